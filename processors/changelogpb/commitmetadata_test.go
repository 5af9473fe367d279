package changelogpb

import (
	"testing"
)

func TestNote(t *testing.T) {
	m := &Marker{OwnerEpoch: 3, Sequence: 7, WrittenAtMs: 9}
	for _, c := range []struct {
		note string
		want Note
	}{
		{Note{CommitMetadata(m), "spend.by.eu", 24}.String(), Note{CommitMetadata(m), "spend.by.eu", 24}},
		{CommitMetadata(m) + " in spend.by.eu", Note{CommitMetadata(m), "spend.by.eu", 0}}, // of an older version
		{CommitMetadata(m), Note{CommitMetadata(m), "", 0}},
		{"kafka-consumer-groups.sh", Note{"kafka-consumer-groups.sh", "", 0}},
		{CommitMetadata(m) + " in log/99999999999", Note{CommitMetadata(m), "log", 0}},
		{"", Note{}},
	} {
		if got := ParseNote(c.note); got != c.want {
			t.Errorf("%q: %+v, want %+v", c.note, got, c.want)
		}
	}
}

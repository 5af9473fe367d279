package changelogpb

import (
	"testing"
)

func TestNote(t *testing.T) {
	m := &Marker{OwnerEpoch: 3, Sequence: 7, WrittenAtMs: 9}
	type parts struct {
		transaction, changelog string
		partitions             int32
	}
	for _, c := range []struct {
		note string
		want parts
	}{
		{CommitNote(m, "spend.by.eu", 24), parts{CommitMetadata(m), "spend.by.eu", 24}},
		{CommitMetadata(m) + " in spend.by.eu", parts{CommitMetadata(m), "spend.by.eu", 0}}, // of an older version
		{CommitMetadata(m), parts{CommitMetadata(m), "", 0}},
		{"kafka-consumer-groups.sh", parts{"kafka-consumer-groups.sh", "", 0}},
		{CommitMetadata(m) + " in log/99999999999", parts{CommitMetadata(m), "log", 0}},
		{"", parts{}},
	} {
		var got parts
		if got.transaction, got.changelog, got.partitions = SplitNote(c.note); got != c.want {
			t.Errorf("%q: %+v, want %+v", c.note, got, c.want)
		}
	}
}

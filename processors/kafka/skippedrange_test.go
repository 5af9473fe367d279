package kafka

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// The newest ranges are in a note with their texts, and no note is longer than brokers accept.
func TestSkippedNote(t *testing.T) {
	at := time.UnixMilli(1_700_000_000_000).UTC()
	var list []SkippedRange
	for i := range int64(100) {
		list = append(list, SkippedRange{From: i, To: i + 1, Who: "me", Why: strings.Repeat("\x01", 200), At: at})
		note := EncodeSkipped(list)
		got := DecodeSkipped(note)
		if len(note) > maxSkipNote || len(got) == 0 || !reflect.DeepEqual(got[len(got)-1], list[i]) {
			t.Fatalf("%d ranges: %d bytes, the last is %+v", i+1, len(note), got)
		}
		if len(got) != min(len(list), maxSkipped) {
			t.Errorf("%d of %d ranges are in the note", len(got), len(list))
		}
	}
	for _, other := range []string{"", "member-1", skipNotePrefix, skipNotePrefix + "{"} {
		if got := DecodeSkipped(other); got != nil || EncodeSkipped(nil) != "" {
			t.Errorf("%q has %+v", other, got)
		}
	}
}

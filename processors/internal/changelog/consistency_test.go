package changelog

import "testing"

// lag is the greatest lag of a store that counts as warm.
const lag = 100_000

func TestConsistency(t *testing.T) {
	e := &Consistency{}
	r := &Applier{bulkUntil: 100}
	for i, c := range []struct {
		at, end int64
		open    bool
		want    bool
	}{
		{50, 120, false, false},        // still reads records that were there when it began
		{100, 120, true, false},        // its last transaction is incomplete
		{110, 120, false, true},        // reads new records from now on
		{115, 150, true, true},         // the store has whole transactions only
		{115, 115 + lag, true, true},   // a little behind
		{116, 117 + lag, false, false}, // it was away for a time
		{lag, 117 + lag, false, false}, // near the end, but not at the end
		{117 + lag, 130 + lag, true, false},
		{120 + lag, 130 + lag, false, true},
	} {
		r.Next, r.open = c.at, c.open
		if got := e.Update(r, c.end, lag); got != c.want {
			t.Errorf("step %d: consistent %v, want %v", i, got, c.want)
		}
	}
}

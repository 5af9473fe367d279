package node

import (
	"testing"
	"time"
)

// TestStartReport: a start that waits for a minute is reported after 5, 10, 20 and 40 s.
func TestStartReport(t *testing.T) {
	began := time.Unix(0, 0)
	r := startReport{began: began}
	var at []int
	for s := range 61 {
		if r.due(began.Add(time.Duration(s) * time.Second)) {
			at = append(at, s)
		}
	}
	if len(at) != 4 || at[0] != 5 || at[1] != 10 || at[2] != 20 || at[3] != 40 {
		t.Errorf("reports after %v s", at)
	}
}

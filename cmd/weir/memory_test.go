package main

import (
	"encoding/json"
	"testing"
)

// TestSharesFitTheBudget: what is given out is not more than there is, whatever else is set, and follows the budget.
func TestSharesFitTheBudget(t *testing.T) {
	for _, memory := range []string{"128MiB", "512MiB", "768MiB", "64GiB"} {
		for _, workers := range []string{"0", "1", "2", "64"} {
			for _, standbys := range []string{"0", "2"} {
				environ := []string{"WEIR_PROCESSOR_COMMIT_BYTES=64MiB", "WEIR_PROCESSOR_WORKERS=" + workers, "WEIR_PROCESSOR_STANDBYS=" + standbys}
				r := weirIn(t, append(environ, "WEIR_MEMORY="+memory), "config", "memory", "-o", "json")
				var rows []shareRow
				if err := json.Unmarshal([]byte(r.stdout), &rows); err != nil || r.code != 0 {
					t.Fatalf("code %d, %v in %s%s", r.code, err, r.stdout, r.stderr)
				}
				sum := int64(0)
				for _, row := range rows[1 : len(rows)-1] {
					if sum += row.Bytes; row.Bytes <= 0 || row.Note == "" {
						t.Errorf("%s with %s workers: %+v", memory, workers, row)
					}
				}
				if budget := rows[0].Bytes; sum > budget || memory != "64GiB" && sum < budget*8/10 {
					t.Errorf("%s with %s workers, %s standbys: %d are given of %d", memory, workers, standbys, sum, budget)
				}
			}
		}
	}
}

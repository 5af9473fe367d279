package executor

import (
	"fmt"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
)

// losses returns what kills have lost or doubled. sent are revocations by id, results are in the
// order of their publication, and rows are those after all commands. The first command of each
// resource is for version 1.
func losses(sent map[string]*eventspb.LeaseCommand, results map[string][]*eventspb.LeaseResult, rows map[string]lease.Row) (wrong []string) {
	complain := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	last := map[string]*eventspb.LeaseRevoke{}
	for id, c := range sent {
		if r := c.GetRevoke(); last[r.Resource].GetVersion() < r.Version {
			last[r.Resource] = r
		}
		switch list := results[id]; {
		case len(list) == 0:
			complain("command %s has no result", id)
		case list[0].Outcome != eventspb.LeaseOutcome_LEASE_OUTCOME_DONE:
			// Only later results may differ: after a crash, the next command of the row may have
			// changed the row before the result was written again.
			complain("command %s: %v", id, list[0])
		}
	}
	for id := range results {
		if sent[id] == nil {
			complain("a result of no command: %s", id)
		}
	}
	for name, r := range last {
		if row := rows[name]; row.Version != r.Version+1 || row.Available != r.AvailableMs {
			complain("resource %s is %+v after %v", name, row, r)
		}
	}
	return wrong
}

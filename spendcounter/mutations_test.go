package spendcounter

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcounter/spendpb"
)

// TestRecountNotices: the comparison with the recount passes a right state, and reports each of
// these bugs.
func TestRecountNotices(t *testing.T) {
	histories := rapid.Custom(func(t *rapid.T) *run {
		r := newRun(t, testConfig(), drawLogs(t, shape{bad: true}))
		r.all()
		return r
	})
	drop := func(table byte) func(r *run) bool {
		return func(r *run) bool {
			rows := r.store.tables[table]
			for _, key := range slices.Sorted(maps.Keys(rows)) {
				delete(rows, key)
				return true
			}
			return false
		}
	}
	spend := func(change func(p *eventspb.Spend)) func(r *run) bool {
		return func(r *run) bool {
			rows := r.store.tables[TableSpend]
			for _, key := range slices.Sorted(maps.Keys(rows)) {
				rows[key] = mutated(t, rows[key], &eventspb.Spend{}, change)
				return true
			}
			return false
		}
	}
	task := func(change func(p *spendpb.TaskState)) func(r *run) bool {
		return func(r *run) bool {
			rows := r.store.tables[TableTask]
			if rows[TaskKey] != nil {
				rows[TaskKey] = mutated(t, rows[TaskKey], &spendpb.TaskState{}, change)
			}
			return rows[TaskKey] != nil
		}
	}
	audits := func(change func(list []*eventspb.SpendAudit) []*eventspb.SpendAudit) func(r *run) bool {
		return func(r *run) bool {
			if len(r.store.audits) == 0 {
				return false
			}
			r.store.audits = change(r.store.audits)
			return true
		}
	}
	for name, mutate := range map[string]func(r *run) bool{ // false: the history has no such thing
		"an event is charged twice": spend(func(p *eventspb.Spend) { p.ByDc[0].ChargedMicros++ }),
		"an event is counted twice": spend(func(p *eventspb.Spend) {
			p.ByDc[0].Events = append(p.ByDc[0].Events, &eventspb.TypeCount{Type: eventspb.EventType_EVENT_TYPE_CLICK, Count: 1})
		}),
		"a duplicate is counted twice":    spend(func(p *eventspb.Spend) { p.Duplicates++ }),
		"a campaign day is lost":          drop(TableSpend),
		"an account cannot be found":      drop(TableCampaigns),
		"a ranking lacks a campaign":      drop(TableRanking),
		"a total is lost":                 drop(TableTotals),
		"a reference is forgotten":        drop(TableReferences),
		"an hour is lost":                 drop(TableHours),
		"a part is lost":                  drop(TableParts),
		"the sum is not that of the rows": task(func(p *spendpb.TaskState) { p.Origins[0].Micros++ }),
		"a copy is applied twice":         task(func(p *spendpb.TaskState) { p.Origins[0].Count++ }),
		"a lost copy is not counted":      task(func(p *spendpb.TaskState) { p.Origins[0].Lost++ }),
		"a late event is not counted":     task(func(p *spendpb.TaskState) { p.Origins[0].Late++ }),
		"a minute is emitted twice":       audits(func(list []*eventspb.SpendAudit) []*eventspb.SpendAudit { return append(list, list[0]) }),
		"a minute is not emitted":         audits(func(list []*eventspb.SpendAudit) []*eventspb.SpendAudit { return list[1:] }),
		"a minute lacks an event": audits(func(list []*eventspb.SpendAudit) []*eventspb.SpendAudit {
			list[0].Digest++
			return list
		}),
		"ids are forgotten": func(r *run) bool {
			if n := len(r.c.window.buckets); n > 0 {
				r.c.window.buckets = r.c.window.buckets[:n-1]
				return true
			}
			return false
		},
		"none": func(*run) bool { return true },
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range 20 {
				r := histories.Example(seed)
				if found := report(r, mutate); found != "" || name == "none" && seed > 2 {
					if (found == "") != (name == "none") {
						t.Errorf("seed %d: %s", seed, found)
					}
					return
				}
			}
			t.Error("20 histories did not find it")
		})
	}
}

// report mutates a run and returns what the checks report.
func report(r *run, mutate func(r *run) bool) (found string) {
	if !mutate(r) {
		return ""
	}
	return reported(r, r.check)
}

// reported returns what a check of r reports.
func reported(r *run, check func()) (found string) {
	defer func() {
		if v := recover(); v != nil {
			f, caught := v.(finding)
			if !caught {
				panic(v)
			}
			found = string(f)
		}
	}()
	r.fatal = catcher{}
	check()
	return ""
}

// catcher panics with what a check reports.
type catcher struct{}

type finding string

func (catcher) Helper() {}

func (catcher) Fatalf(format string, args ...any) { panic(finding(fmt.Sprintf(format, args...))) }

// mutated returns an encoded message with a change.
func mutated[M proto.Message](t *testing.T, value []byte, m M, change func(M)) []byte {
	if err := proto.Unmarshal(value, m); err != nil {
		t.Fatal(err)
	}
	change(m)
	return marshal(t, m)
}

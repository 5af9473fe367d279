package processors

import (
	"testing"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/processors/changelogpb"
)

// TestRefreshOfAStateThatWasReplaced: local tables that were completed for a state are not kept for another one that was put in
// from outside meanwhile.
func TestRefreshOfAStateThatWasReplaced(t *testing.T) {
	s := memoryStore(t)
	local := []*changelogpb.Position{{Topic: "in", Next: 7}}
	for as, kept := range map[uint64]bool{4: false, 5: true} {
		r := &replay{store: s, batch: s.db.NewBatch(), meta: &changelogpb.TaskMeta{App: "timers", Marker: &changelogpb.Marker{Sequence: 6}}, rewritten: 5}
		f := &standby{held: map[int32]*replay{0: r}, fresh: make(chan refreshed, 1), log: zerolog.Nop()}
		f.fresh <- refreshed{of: r, as: as, local: local}
		f.takeRefreshed()
		if got := r.meta.Local != nil; got != kept {
			t.Errorf("as of transaction %d, the state is of 5: kept %t", as, got)
		}
		if err := r.close(); err != nil {
			t.Fatal(err)
		}
	}
}

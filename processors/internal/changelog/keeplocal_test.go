package changelog

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rs/zerolog"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/store"
)

// TestKeepLocalAfterRewrite: local tables that were completed for a state are discarded if a
// transaction has replaced that state from outside.
func TestKeepLocalAfterRewrite(t *testing.T) {
	log := zerolog.Nop()
	s, err := store.Open(&store.Options{FS: vfs.NewMem(), Dir: "/state", Instance: "t", Log: &log, CacheBytes: 1 << 20, MemtableBytes: 1 << 20}, "timers")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	local := []*changelogpb.Position{{Topic: "in", Next: 7}}
	for sequence, want := range map[uint64]bool{4: false, 5: true} {
		r := &Applier{store: s, batch: s.DB.NewBatch(), Meta: &changelogpb.TaskMeta{App: "timers", Marker: &changelogpb.Marker{Sequence: 6}}, rewritten: 5}
		kept, err := r.KeepLocal(sequence, local, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Meta.Local != nil; kept != want || got != want {
			t.Errorf("local tables of transaction %d, state replaced by transaction 5: kept %t, in the meta %t", sequence, kept, got)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

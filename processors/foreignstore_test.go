//go:build synctests

package processors_test

import (
	"errors"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/processorstest"
)

// TestForeignStore: a process does not use a store that a newer version or another application has
// written. It ends before it takes partitions, which another process can run.
func TestForeignStore(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(m *changelogpb.TaskMeta)
		want   error
	}{
		"newer format":        {func(m *changelogpb.TaskMeta) { m.Format += 7 }, processors.ErrNewer},
		"another application": {func(m *changelogpb.TaskMeta) { m.App = "other" }, processors.ErrForeign},
	} {
		t.Run(name, func(t *testing.T) {
			processorstest.Run(t, unchecked(4), func(t *testing.T, h *processorstest.Harness) {
				foldThree(h)
				rewrite(t, h, tc.change)
				p := h.Start("a")
				h.WaitFor("the process ends", time.Minute, p.Ended)
				if err := p.Await(); !errors.Is(err, tc.want) {
					t.Errorf("the process ended with %v", err)
				}
				other := h.Start("b")
				h.WaitFor("another process runs all partitions", 10*time.Second, func() bool {
					return other.Status(0).State == "running" && other.Status(3).State == "running"
				})
				other.Stop()
			})
		})
	}
}

// rewrite changes the positions of partition 0 in the store of the stopped process "a".
func rewrite(t *testing.T, h *processorstest.Harness, change func(*changelogpb.TaskMeta)) {
	t.Helper()
	s := openStore(t, h.Disk("a"))
	m, err := s.Meta(s.DB, 0)
	if err != nil {
		t.Fatal(err)
	}
	change(m)
	b := s.DB.NewBatch()
	if err := errors.Join(store.PutMeta(b, 0, m), b.Commit(pebble.Sync), b.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
}

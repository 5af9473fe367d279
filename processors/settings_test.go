//go:build synctests

package processors_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/ledger"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// withSettings returns the ledger with settings.
func withSettings(settings map[string]string) stream.Processor {
	p := ledger.Processor("in")
	p.Settings = settings
	return p
}

// TestSettingsWithoutCoordinator: a process of a new cluster waits until its group has a
// coordinator.
func TestSettingsWithoutCoordinator(t *testing.T) {
	runLedger(t, 1, func(t *testing.T, h *processorstest.Harness) {
		h.FailRequests(kmsg.DescribeGroups, kerr.CoordinatorNotAvailable, 10)
		a := h.StartWith("a", processors.Config{Workers: 1}, withSettings(map[string]string{"the window": "10m"}))
		h.WaitFor("the process runs", time.Minute, func() bool { return a.Status(0).State == "running" })
	})
}

// TestSettingsDiffer: a process whose settings differ from those of a running one does not start,
// and names both values. The running one continues. Once it is stopped, the new value is accepted,
// and a process of another version, with other names, is, too.
func TestSettingsDiffer(t *testing.T) {
	runLedger(t, 4, func(t *testing.T, h *processorstest.Harness) {
		cfg := processors.Config{Workers: 1}
		one, two := map[string]string{"the window": "10m", "the rest": "1"}, map[string]string{"the window": "5m"}
		a := h.StartWith("a", cfg, withSettings(one))
		h.WaitFor("the process runs", time.Minute, func() bool { return a.Status(0).State == "running" })
		err := h.StartWith("b", cfg, withSettings(two)).Await()
		if !errors.Is(err, processors.ErrSettings) || !strings.Contains(err.Error(), "the window is 5m here, and 10m in process a") {
			t.Errorf("another value: %v", err)
		}
		c := h.StartWith("c", cfg, withSettings(map[string]string{"the window": "10m", "new": "2"}))
		d := h.StartWith("d", cfg, ledger.Processor("in"))
		h.WaitFor("the processes share the partitions", time.Minute, func() bool {
			n := 0
			for _, p := range []*processorstest.Process{a, c, d} {
				for i := range int32(4) {
					if p.Status(i).State == "running" {
						n++
						break
					}
				}
			}
			return n == 3
		})
		a.Stop()
		c.Stop()
		d.Stop()
		h.Produce("in", 0, "k", "1")
		b := h.StartWith("b", cfg, withSettings(two))
		h.WaitFor("the new value is used", time.Minute, func() bool { return b.Status(0).Next["in"] == 1 })
		// A restart under the same name replaces its own member.
		b.Kill()
		b = h.StartWith("b", cfg, withSettings(one))
		h.WaitFor("the process runs again", time.Minute, func() bool { return b.Status(0).State == "running" })
	})
}

// TestSettingsDifferAtOnce: of two processes that start at the same time with different settings,
// one ends.
func TestSettingsDifferAtOnce(t *testing.T) {
	runLedger(t, 4, func(t *testing.T, h *processorstest.Harness) {
		cfg := processors.Config{Workers: 1}
		a := h.StartWith("a", cfg, withSettings(map[string]string{"x": "1"}))
		b := h.StartWith("b", cfg, withSettings(map[string]string{"x": "2"}))
		if err := b.Await(); !errors.Is(err, processors.ErrSettings) || !strings.Contains(err.Error(), "x is 2 here, and 1 in process a") {
			t.Errorf("the second process ended with %v", err)
		}
		h.WaitFor("the first process has all partitions", time.Minute, func() bool {
			for p := range int32(4) {
				if a.Status(p).State != "running" {
					return false
				}
			}
			return true
		})
	})
}

//go:build synctests

package processors_test

import (
	"testing"
	"time"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/processorstest"
)

// TestStopTimeout: a process is stopped while the brokers are away and a commit waits for them. It
// ends within Config.StopTimeout, and without one within three transaction timeouts; leaving the
// group takes three seconds more. The next process folds what was not committed.
func TestStopTimeout(t *testing.T) {
	for name, c := range map[string]struct {
		at     string // the failpoint at which the brokers go away
		config processors.Config
		limit  time.Duration
	}{
		"before the records are sent":    {"flushed", processors.Config{StopTimeout: 2 * time.Second}, 2 * time.Second},
		"the records are sent":           {"produced", processors.Config{StopTimeout: 2 * time.Second}, 2 * time.Second},
		"the records are written":        {"written", processors.Config{StopTimeout: 2 * time.Second}, 2 * time.Second},
		"longer than three transactions": {"produced", processors.Config{StopTimeout: time.Hour}, 30 * time.Second},
		"default":                        {"produced", processors.Config{}, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			processorstest.Run(t, summing(), func(t *testing.T, h *processorstest.Harness) {
				f, cut, cfg := &feed{w: h}, make(chan struct{}), c.config
				cfg.Workers = 1
				var p *processorstest.Process
				armed := make(chan struct{}, 1)
				cfg.SetFailpoint(func(_ *processors.Worker, at string) error {
					if at == c.at && len(armed) > 0 {
						<-armed
						p.Cut()
						close(cut)
					}
					return nil
				})
				p = h.StartWith("a", cfg, summing().Processor)
				f.give(3)
				f.exact(t)
				armed <- struct{}{}
				f.give(5)
				<-cut
				time.Sleep(time.Second)
				began := time.Now()
				p.Stop()
				if took := time.Since(began); took > c.limit+3*time.Second {
					t.Errorf("the stop took %s", took)
				}
				p.Heal()
				h.Start("a")
				f.exact(t)
			})
		})
	}
}

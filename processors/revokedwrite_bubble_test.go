//go:build synctests

package processors_test

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/ledger"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/processorstest"
)

// TestRevokedWrite: a running process without the right to write a topic tries seldom, and its
// status has the reason. It continues when it has the right again.
func TestRevokedWrite(t *testing.T) {
	for _, topic := range []string{"out", "log"} {
		t.Run(topic, func(t *testing.T) {
			runLedger(t, 1, func(t *testing.T, h *processorstest.Harness) {
				h.Produce("in", 0, "k", "1")
				p := h.StartWith("a", processors.Config{Workers: 1}, ledger.Processor("in"))
				h.CaughtUp()
				fault := h.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: topic, Err: kerr.TopicAuthorizationFailed, Count: -1})
				h.Produce("in", 0, "k", "1")
				time.Sleep(5 * time.Minute)
				if n := fault.Hits(); n < 30 || n > 75 {
					t.Errorf("%d requests in five minutes", n)
				}
				if s := p.Status(0); !strings.Contains(s.Reason, "produce to "+topic+"[0]: TOPIC_AUTHORIZATION_FAILED") || s.State == processors.StateStopped {
					t.Errorf("the status is %+v", s)
				}
				fault.Remove()
				h.WaitFor("the record is folded", 10*time.Second, func() bool { return p.Status(0).Next["in"] == 2 })
				if s := p.Status(0); s.Reason != "" {
					t.Errorf("the status is %+v", s)
				}
			})
		})
	}
}

// TestNoWriteAtStart: a process that has no right to write from its start on ends with the reason.
func TestNoWriteAtStart(t *testing.T) {
	for _, topic := range []string{"out", "log"} {
		t.Run(topic, func(t *testing.T) {
			runLedger(t, 1, func(t *testing.T, h *processorstest.Harness) {
				fault := h.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: topic, Err: kerr.TopicAuthorizationFailed, Count: -1})
				h.Produce("in", 0, "k", "1")
				p := h.StartWith("a", processors.Config{Workers: 1}, ledger.Processor("in"))
				h.WaitFor("the process ends", time.Minute, p.Ended)
				if err := p.Await(); kafka.RefusalOf(err) != kafka.NoPermission || !strings.Contains(err.Error(), "produce to "+topic+"[0]") {
					t.Errorf("the process ended with %v", err)
				}
				fault.Remove()
				h.StartWith("a", processors.Config{Workers: 1}, ledger.Processor("in"))
				h.CaughtUp()
			})
		})
	}
}

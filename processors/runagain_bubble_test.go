//go:build synctests

package processors_test

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/ledger"
	"github.com/weirhq/weir/processors/processorstest"
)

// TestRunAgain: a runtime whose Run has returned can run again, after a start that failed and after
// a stop.
func TestRunAgain(t *testing.T) {
	o := ledgerOptions(1)
	o.NoRefold = true // the topic is not one of the options
	processorstest.Run(t, o, func(t *testing.T, h *processorstest.Harness) {
		proc := ledger.Processor("late")
		p := h.StartWith("a", processors.Config{Workers: 1}, proc)
		if err := p.Await(); err == nil {
			t.Fatal("the topic does not exist, and Run returned no error")
		}
		if _, err := kadm.NewClient(h.Client()).CreateTopic(t.Context(), 1, 1, nil, "late"); err != nil {
			t.Fatal(err)
		}
		for run := range int64(2) {
			h.Produce("late", 0, "k", "1")
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- p.Runtime().Run(ctx) }()
			h.WaitFor("the record is folded", time.Minute, func() bool { return p.Status(0).Next["late"] == run+1 })
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if list := p.Runtime().Status(); len(list) > 0 {
				t.Errorf("after Run it has %+v", list)
			}
		}
	})
}

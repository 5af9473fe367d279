//go:build synctests

package processors_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// TestContextLogAndCount: a record function writes to the log of the runtime, with the fields of
// its task, and counts once for each committed record.
func TestContextLogAndCount(t *testing.T) {
	p := stream.Processor{App: "loggers", Inputs: []string{"in"}, New: stream.EachRecord(func(c *stream.Context, r *stream.Record) error {
		if string(r.Value) == "bug" {
			panic("the whole transaction is folded again")
		}
		c.Log().Warn("seen", "value", string(r.Value))
		c.Count("seen", 1)
		return nil
	})}
	var lines bytes.Buffer
	metrics := processors.NewMetrics(nil)
	processorstest.Run(t, processorstest.Options{Processor: p}, func(_ *testing.T, h *processorstest.Harness) {
		h.StartWith("a", processors.Config{Slog: slog.NewJSONHandler(&lines, nil), Metrics: metrics}, p)
		h.Produce("in", 2, "x", "one", "bug", "two")
		h.CaughtUp()
	})
	for _, part := range []string{`"level":"WARN"`, `"app":"loggers"`, `"worker":`, `"partition":2`, `"value":"one"`, `"msg":"seen"`} {
		if !strings.Contains(lines.String(), part) {
			t.Errorf("the log has no %s:\n%s", part, lines.String())
		}
	}
	var n dto.Metric
	if err := metrics.Counts.WithLabelValues("loggers", "seen").Write(&n); err != nil || n.GetCounter().GetValue() != 2 {
		t.Errorf("counted: %v, %v", &n, err)
	}
}

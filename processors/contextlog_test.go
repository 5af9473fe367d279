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

// TestRejectReasonIsText: a reason that is not text, such as a part of the record, becomes a label
// of a metric without a panic.
func TestRejectReasonIsText(t *testing.T) {
	p := stream.Processor{App: "reasons", Inputs: []string{"in"}, New: stream.EachRecord(func(_ *stream.Context, r *stream.Record) error {
		return stream.Rejectf(string(r.Value), "the reason is the record")
	})}
	metrics := processors.NewMetrics(nil)
	processorstest.Run(t, processorstest.Options{Processor: p}, func(t *testing.T, h *processorstest.Harness) {
		h.StartWith("a", processors.Config{Metrics: metrics}, p)
		h.Produce("in", 2, "x", "bad\xff")
		h.CaughtUp()
		if n := len(h.Records("reasons.dlq")); n != 1 {
			t.Errorf("%d dead letters", n)
		}
	})
	var n dto.Metric
	if err := metrics.Rejected.WithLabelValues("reasons", "bad\uFFFD").Write(&n); err != nil || n.GetCounter().GetValue() != 1 {
		t.Errorf("rejected: %v, %v", &n, err)
	}
}

// TestQuestionCounts: a question that does nothing but count is counted, at once.
func TestQuestionCounts(t *testing.T) {
	p := stream.Processor{App: "asked", Inputs: []string{"in"}, New: stream.EachRecord(func(*stream.Context, *stream.Record) error { return nil })}
	metrics := processors.NewMetrics(nil)
	processorstest.Run(t, processorstest.Options{Processor: p}, func(t *testing.T, h *processorstest.Harness) {
		a := h.StartWith("a", processors.Config{Metrics: metrics}, p)
		h.CaughtUp()
		if err := processors.AskCommitted(t.Context(), a.Runtime(), 2, func(c *stream.Context) error { c.Count("asked", 1); return nil }); err != nil {
			t.Fatal(err)
		}
		var n dto.Metric
		if err := metrics.Counts.WithLabelValues("asked", "asked").Write(&n); err != nil || n.GetCounter().GetValue() != 1 {
			t.Errorf("counted: %v, %v", &n, err)
		}
	})
}

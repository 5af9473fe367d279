//go:build synctests

package processors

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// TestTraces looks at the spans of transactions that committed, aborted, and of which nobody knows.
func TestTraces(t *testing.T) {
	bubble(t, 2, func(t *testing.T, w *crashRun) {
		spans := tracetest.NewSpanRecorder()
		rt, end := w.begin("a", Config{Workers: 1, Traces: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))}, ledgers("in"))
		folded := func(n int64) func() bool { return func() bool { return w.status(rt, 1).Next["in"] == n } }
		w.put("in", 1, "1", "2")
		w.until("they are folded", time.Minute, folded(2))
		w.put("in", 1, "poison")
		w.until("it is a dead letter", time.Minute, folded(3))
		fault := w.c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.EndTxn}, Err: kerr.InvalidTxnState, Count: 1})
		w.put("in", 1, "3")
		w.until("it is folded", time.Minute, folded(4))
		if fault.Hits() == 0 {
			t.Error("no request failed")
		}
		if err := end(); err != nil {
			t.Error(err)
		}
		steps, outcomes, records := map[string][]string{}, map[string]int{}, int64(0)
		for _, s := range spans.Ended() {
			if s.Parent().IsValid() {
				steps[s.Parent().SpanID().String()] = append(steps[s.Parent().SpanID().String()], s.Name())
			}
		}
		for _, s := range spans.Ended() {
			if s.Parent().IsValid() {
				continue
			}
			has := attribute.NewSet(s.Attributes()...)
			outcome, _ := has.Value("weir.outcome")
			outcomes[outcome.AsString()]++
			if bad := outcome.AsString() != "committed"; bad != (s.Status().Code == codes.Error) || bad != (s.Status().Description != "") {
				t.Errorf("%s has status %+v", outcome.AsString(), s.Status())
			}
			if outcome.AsString() != "committed" {
				continue
			}
			n, _ := has.Value("weir.records")
			records += n.AsInt64()
			if got := strings.Join(steps[s.SpanContext().SpanID().String()], " "); got != "flush produce end apply" {
				t.Errorf("the steps are %q", got)
			}
			if parts, _ := has.Value("weir.partitions"); n.AsInt64() > 0 && len(parts.AsInt64Slice()) != 1 {
				t.Errorf("%d records of partitions %v", n.AsInt64(), parts.AsInt64Slice())
			}
			if s.EndTime().Before(s.StartTime()) || s.EndTime().Sub(s.StartTime()) > 10*time.Second {
				t.Errorf("it took from %s to %s", s.StartTime(), s.EndTime())
			}
		}
		if records != 4 || outcomes["aborted"] == 0 || outcomes["unknown"] == 0 {
			t.Errorf("%d records, %v", records, outcomes)
		}
	})
}

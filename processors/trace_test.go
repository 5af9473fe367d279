//go:build synctests

package processors_test

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

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/ledger"
	"github.com/weirhq/weir/processors/processorstest"
)

// TestTraces checks the spans of transactions that committed, that aborted, and whose outcome is
// unknown.
func TestTraces(t *testing.T) {
	runLedger(t, 2, func(t *testing.T, h *processorstest.Harness) {
		spans := tracetest.NewSpanRecorder()
		p := h.StartWith("a", processors.Config{Workers: 1, Traces: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))}, ledger.Processor("in"))
		folded := func(n int64) func() bool { return func() bool { return p.Status(1).Next["in"] == n } }
		h.Produce("in", 1, "k", "1", "2")
		h.WaitFor("the records are folded", time.Minute, folded(2))
		h.Produce("in", 1, "k", "poison")
		h.WaitFor("the poison record is a dead letter", time.Minute, folded(3))
		fault := h.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.EndTxn}, Err: kerr.InvalidTxnState, Count: 1})
		h.Produce("in", 1, "k", "3")
		h.WaitFor("the record is folded", time.Minute, folded(4))
		if fault.Hits() == 0 {
			t.Error("no request failed")
		}
		p.Stop()
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
				t.Errorf("a transaction lasted from %s to %s", s.StartTime(), s.EndTime())
			}
		}
		if records != 4 || outcomes["aborted"] == 0 || outcomes["unknown"] == 0 {
			t.Errorf("%d records, %v", records, outcomes)
		}
	})
}

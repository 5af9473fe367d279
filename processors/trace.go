package processors

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// trace records the transaction that ended as a span, with a child for each step of its commit.
// Polling and folding alternate many times in a transaction, so their sums are attributes.
func (w *worker) trace(outcome, why string) {
	if w.cfg.Traces == nil {
		return
	}
	c, tracer := &w.timing, w.cfg.Traces.Tracer("github.com/weirhq/weir/processors")
	ctx, span := tracer.Start(context.Background(), "transaction", trace.WithTimestamp(c.began), trace.WithAttributes(
		attribute.String("weir.app", w.proc.App), attribute.Int("weir.worker", w.id), attribute.String("weir.outcome", outcome),
		attribute.Int("weir.records", w.count), attribute.Int("weir.changes", c.keys), attribute.Int("weir.bytes", c.bytes),
		attribute.Int64Slice("weir.partitions", c.partitions),
		attribute.Float64("weir.poll_seconds", c.poll.Seconds()), attribute.Float64("weir.fold_seconds", c.fold.Seconds()),
	))
	for _, p := range c.phases {
		_, step := tracer.Start(ctx, p.name, trace.WithTimestamp(p.began))
		step.End(trace.WithTimestamp(p.ended))
	}
	if why != "" {
		span.SetStatus(codes.Error, why)
	}
	span.End()
}

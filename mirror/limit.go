package mirror

import (
	"context"

	"golang.org/x/time/rate"
)

// limit bounds the bytes per second of a peer. A nil limit bounds nothing.
type limit struct {
	*rate.Limiter
}

func newLimit(bytesPerSecond int) *limit {
	if bytesPerSecond == 0 {
		return nil
	}
	return &limit{rate.NewLimiter(rate.Limit(bytesPerSecond), max(bytesPerSecond/10, 1))}
}

// wait waits until n more bytes are allowed. The error is that of ctx.
func (l *limit) wait(ctx context.Context, n int) error {
	if l == nil {
		return nil
	}
	for n > 0 {
		some := min(n, l.Burst())
		if err := l.WaitN(ctx, some); err != nil {
			return err //nolint:wrapcheck // it is the error of ctx
		}
		n -= some
	}
	return nil
}

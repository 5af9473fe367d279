package api

import (
	"context"
	"errors"
	"sync"
	"time"

	"connectrpc.com/connect"
)

// parking counts and bounds the parked requests: those that wait for a commit, and streams of jobs.
// A parked request does not count as one that is worked on.
type parking struct {
	limiter *inflightLimiter // that the requests have entered
	metrics *metrics
	clients *clientLimiter

	stopping chan struct{} // closed by stop
	once     sync.Once
}

func newParking(cfg *Config, l *inflightLimiter, m *metrics) *parking {
	return &parking{
		limiter: l, metrics: m, clients: newClientLimiter(cfg.MaxParked, cfg.MaxParkedPerClient),
		stopping: make(chan struct{}),
	}
}

// park parks the request of ctx until done is called. The context that it returns also ends when
// the server stops: parkedError returns the error of a request with it.
func (p *parking) park(ctx context.Context) (parked context.Context, done func(), err error) {
	o, begin := outcomeOf(ctx), time.Now()
	client := o.client
	if requestMetaOf(ctx).forwarded { // the process that forwards has counted its caller
		client = ""
	}
	if err := p.add(client); err != nil {
		return nil, nil, err
	}
	p.limiter.park()
	p.metrics.inFlight.Dec()
	p.metrics.parked.Inc()
	parked, cancel := p.untilStop(ctx)
	return parked, func() {
		cancel()
		waited := time.Since(begin)
		o.parked += waited
		p.metrics.waits.WithLabelValues(o.procedure).Observe(waited.Seconds())
		p.metrics.parked.Dec()
		p.metrics.inFlight.Inc()
		p.limiter.unpark()
		p.clients.remove(client)
	}, nil
}

func (p *parking) add(client string) error {
	switch p.clients.add(client) {
	case noLimit:
		return nil
	case limitOfAll:
		return retryLater(errorf(connect.CodeResourceExhausted,
			"%d requests of all clients wait for a commit in this process, which is its limit: send the request to another process, or poll less often", p.clients.max))
	default:
		return retryLater(errorf(connect.CodeResourceExhausted,
			"%d requests from %s wait for a commit, which is the limit of one client: wait for fewer changes at a time, or send requests to several processes", p.clients.perClient, client))
	}
}

// stop ends the contexts of parked requests.
func (p *parking) stop() { p.once.Do(func() { close(p.stopping) }) }

// errStopping is the cause of the end of these contexts.
var errStopping = errors.New("the server stops")

// untilStop returns a context that also ends when the server stops.
func (p *parking) untilStop(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-p.stopping:
			cancel(errStopping)
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel(nil)
		watching.Wait()
	}
}

// parkedError returns the error of a request that was parked with ctx: err, unless the server
// stops. The caller of one that another process could answer sends it again after Retry-After.
func parkedError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(context.Cause(ctx), errStopping) {
		err = errorf(connect.CodeUnavailable,
			"this process is stopping, and the request waited for a commit: send it again, to another process")
	}
	if connect.CodeOf(err) == connect.CodeUnavailable {
		err = retryLater(err)
	}
	return err
}

// defaultPollWait is the wait of a long poll that names none.
const defaultPollWait = 30 * time.Second

// pollEnd returns when a long poll of waitMs ends; 0: the default. A poll waits for limit at most.
func pollEnd(waitMs int64, limit time.Duration) (time.Time, error) {
	wait := time.Duration(waitMs) * time.Millisecond
	switch {
	case waitMs < 0:
		return time.Time{}, invalid("wait_ms %d is negative: use a number of milliseconds, or omit it for %d", waitMs,
			defaultPollWait.Milliseconds())
	case waitMs == 0:
		wait = defaultPollWait
	case waitMs > limit.Milliseconds(): // the product above may have wrapped
		wait = limit
	}
	return time.Now().Add(min(wait, limit)), nil
}

// retryLater adds the header Retry-After, in seconds, to an error.
func retryLater(err error) error {
	var coded *connect.Error
	if errors.As(err, &coded) {
		coded.Meta().Set("Retry-After", "1")
	}
	return err
}

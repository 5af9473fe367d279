package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb/weirpbconnect"
)

// endpoint is one spend cache.
type endpoint struct {
	url   string
	cache weirpbconnect.SpendCacheServiceClient
	// last is the time, Unix nanoseconds, until which the endpoint is asked last, because it did
	// not answer in time or had no healthy dataset.
	last atomic.Int64
}

// askLast is how long an endpoint is asked last after a failure.
const askLast = time.Second

// inOrder returns the endpoints in the order in which they are asked.
func (c *Client) inOrder(now time.Time) []*endpoint {
	list := slices.Clone(c.endpoints)
	slices.SortStableFunc(list, func(a, b *endpoint) int {
		return later(a, now) - later(b, now)
	})
	return list
}

// later is 1 if an endpoint is to be asked after the others.
func later(e *endpoint, now time.Time) int {
	if now.UnixNano() < e.last.Load() {
		return 1
	}
	return 0
}

// reply is the answer of one endpoint.
type reply[A answer] struct {
	from   *endpoint
	answer A
	err    error
}

// read asks the endpoints one after another: the next one when the one before has failed, has no
// healthy dataset, or has not answered for half of the limit. publish gets each answer that is
// better than those before. read ends with the first answer in normal mode. It returns an error if
// there was no answer.
func (r *reads[A]) read(account string, publish func(A)) error {
	leave, err := r.enter()
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(r.ctx, r.cfg.Timeout)
	defer cancel()
	list := r.inOrder(time.Now())
	replies := make(chan reply[A], len(list))
	asked, got := 0, 0
	hedge := time.NewTicker(max(1, r.cfg.Limit/2))
	defer hedge.Stop()
	ask := func() {
		e := list[asked]
		asked++
		hedge.Reset(max(1, r.cfg.Limit/2))
		r.reading.Go(func() { replies <- r.ask(ctx, e, account) })
	}
	ask()
	var best *header
	var failures []error
	for got < asked {
		select {
		case <-hedge.C:
			if asked < len(list) {
				r.postpone(list[asked-1])
				ask()
			}
			continue
		case one := <-replies:
			got++
			switch {
			case one.err != nil:
				failures = append(failures, one.err)
				if isRefusal(one.err) {
					return one.err
				}
				if isOutage(one.err) {
					r.postpone(one.from)
				}
			case best == nil || better(one.answer.head(), best):
				best = one.answer.head()
				publish(one.answer)
			}
		}
		if best != nil && best.modeAt(time.Now()) == Normal {
			return nil
		}
		if best != nil { // others have some time to answer with something better
			defer time.AfterFunc(searchLimits*r.cfg.Limit, cancel).Stop()
		}
		if asked < len(list) {
			ask()
		}
	}
	if best != nil {
		return nil
	}
	return errors.Join(failures...)
}

// searchLimits is for how many times Config.Limit a better answer is waited for than one that is
// not in normal mode.
const searchLimits = 10

// maxWaiting bounds the reads that wait for their turn, in multiples of Config.MaxRequests.
const maxWaiting = 16

// enter waits for one of the Config.MaxRequests reads at a time, at most for Config.Timeout.
func (c *Client) enter() (leave func(), err error) {
	busy := fmt.Errorf("%d accounts are being read: the spend caches answer slowly, or MaxRequests is too small", c.cfg.MaxRequests)
	defer c.waiting.Add(-1)
	if c.waiting.Add(1) > int64(maxWaiting*c.cfg.MaxRequests) {
		return nil, busy
	}
	t := time.NewTimer(c.cfg.Timeout)
	defer t.Stop()
	select {
	case c.requests <- struct{}{}:
		return func() { <-c.requests }, nil
	case <-t.C:
		return nil, busy
	case <-c.ctx.Done():
		return nil, c.ctx.Err()
	}
}

// postpone makes an endpoint the last one to be asked for a second.
func (c *Client) postpone(e *endpoint) {
	c.counters.failures.Add(1)
	e.last.Store(time.Now().Add(askLast).UnixNano())
}

// ask sends one request.
func (r *reads[A]) ask(ctx context.Context, e *endpoint, account string) reply[A] {
	r.counters.requests.Add(1)
	answer, err := r.request(ctx, e, account)
	if err != nil {
		return reply[A]{from: e, err: fmt.Errorf("%s: %w", e.url, err)}
	}
	return reply[A]{from: e, answer: answer}
}

// isRefusal reports whether an error is about the request: each endpoint would refuse it.
func isRefusal(err error) bool {
	switch connect.CodeOf(err) {
	case connect.CodeInvalidArgument:
		return true
	case connect.CodeResourceExhausted: // the account has too many rows; a process with too much to do has Retry-After
		return !hasRetryAfter(err)
	default:
		return false
	}
}

// isOutage reports whether an error is about the endpoint, and not about one account.
func isOutage(err error) bool {
	switch connect.CodeOf(err) {
	case connect.CodeInternal, connect.CodeOutOfRange, connect.CodeDataLoss:
		return false
	case connect.CodeUnavailable: // a cache that cannot read one shard has Retry-After
		return !hasRetryAfter(err)
	default:
		return true
	}
}

// hasRetryAfter reports whether an error is the answer of a process that can be asked again soon.
func hasRetryAfter(err error) bool {
	var coded *connect.Error
	return errors.As(err, &coded) && coded.Meta().Get("Retry-After") != ""
}

// troubled reports whether all endpoints have failed in the last second.
func (c *Client) troubled(now time.Time) bool {
	return !slices.ContainsFunc(c.endpoints, func(e *endpoint) bool { return later(e, now) == 0 })
}

package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// answer is what a cache has answered for an account: an Account or a Pacing.
type answer interface {
	head() *header
}

// header is what all answers have. It does not change after the answer has been taken.
type header struct {
	mode            Mode          // of the answer
	fetched         time.Time     // when the answer arrived
	age             time.Duration // of the figures at that time, with the time of the request; negative: not known
	stale, unusable time.Duration
	// tickMs identifies the figures: answers with the same one have the same. 0: it is not known.
	tickMs int64
	first  time.Time // when the first answer with tickMs arrived
}

// ageAt returns the age at a time. A clock that is ahead, of the process that has stamped the
// figures, cannot make them younger than the client knows.
func (h *header) ageAt(now time.Time) time.Duration {
	switch {
	case h.age < 0:
		return -1
	case h.tickMs == 0:
		return h.age + now.Sub(h.fetched)
	}
	return max(h.age+now.Sub(h.fetched), now.Sub(h.first))
}

func (h *header) modeAt(now time.Time) Mode {
	age := h.ageAt(now)
	switch {
	case age < 0, age >= h.unusable:
		return FailSafe
	case age >= h.stale:
		return max(h.mode, Degraded)
	}
	return h.mode
}

// reads are the answers of one kind, and the reads of more.
type reads[A answer] struct {
	*Client
	request func(ctx context.Context, e *endpoint, account string) (A, error)
	entries *lru.Cache[string, *entry[A]]
}

// entry is what the client has of an account.
type entry[A answer] struct {
	mu     sync.Mutex
	answer A
	head   *header       // of answer; nil: there is none yet
	ttl    time.Duration // of answer
	flight *flight       // nil: no request is under way

	retryAt time.Time // after a read without a better answer: the next one is not before
	failed  error     // of that read
}

// flight is a read of an account that is under way.
type flight struct {
	answered chan struct{} // closed at the first answer, and at the end
	once     sync.Once
	err      error // of a read that has ended without an answer; entry.mu guards it
}

func (f *flight) wake() { f.once.Do(func() { close(f.answered) }) }

func newReads[A answer](c *Client, request func(ctx context.Context, e *endpoint, account string) (A, error)) (*reads[A], error) {
	entries, err := lru.New[string, *entry[A]](c.cfg.MaxAccounts)
	if err != nil {
		return nil, fmt.Errorf("%w: MaxAccounts: %w", ErrConfig, err)
	}
	return &reads[A]{c, request, entries}, nil
}

// get returns the answer for an account: see Client.Account.
func (r *reads[A]) get(ctx context.Context, account string) (none A, err error) {
	e := r.entry(account)
	now := time.Now()
	e.mu.Lock()
	answer, known, since := e.answer, e.head != nil, time.Duration(0)
	if known {
		since = now.Sub(e.head.fetched)
	}
	if known && since < e.ttl*refreshAhead/10 {
		e.mu.Unlock()
		r.counters.hits.Add(1)
		return answer, nil
	}
	f, failed := e.flight, error(nil)
	switch {
	case f != nil:
	case now.Before(e.retryAt):
		failed = e.failed
	default:
		f = r.start(account, e) // others may wait for the answer longer than this caller
	}
	fresh := known && since < e.ttl
	e.mu.Unlock()
	switch {
	case fresh:
		r.counters.hits.Add(1)
		return answer, nil
	case known && (f == nil || r.troubled(now)): // to wait would not help
		r.counters.old.Add(1)
		return answer, nil
	case f == nil:
		r.counters.unknown.Add(1)
		return none, fmt.Errorf("%w: %w", ErrUnknown, failed)
	}
	r.counters.waits.Add(1)
	return r.await(ctx, e, f)
}

// prefetch begins to read an account unless its answer is young, and does not wait.
func (r *reads[A]) prefetch(account string) {
	e := r.entry(account)
	now := time.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.flight == nil && !now.Before(e.retryAt) && (e.head == nil || now.Sub(e.head.fetched) >= e.ttl*refreshAhead/10) {
		r.start(account, e)
	}
}

// refreshAhead is the part of the TTL, in tenths, after which an answer is read again in the
// background.
const refreshAhead = 8

// entry returns the entry of an account.
func (r *reads[A]) entry(account string) *entry[A] {
	if e, ok := r.entries.Get(account); ok {
		return e
	}
	e := &entry[A]{}
	if was, ok, _ := r.entries.PeekOrAdd(account, e); ok {
		return was
	}
	return e
}

// await waits for a read, and returns the newest answer.
func (r *reads[A]) await(ctx context.Context, e *entry[A], f *flight) (none A, err error) {
	limit := time.NewTimer(r.cfg.Limit)
	defer limit.Stop()
	var why error
	answered := false
	select {
	case <-f.answered:
		answered = true
	case <-limit.C:
		why = fmt.Errorf("no spend cache has answered within %v", r.cfg.Limit)
	case <-ctx.Done():
		why = ctx.Err()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if answered {
		why = f.err
	}
	if e.head != nil {
		if why != nil {
			r.counters.old.Add(1)
		}
		return e.answer, nil
	}
	r.counters.unknown.Add(1)
	return none, fmt.Errorf("%w: %w", ErrUnknown, why)
}

// start begins to read an account. The caller holds e.mu.
func (r *reads[A]) start(account string, e *entry[A]) *flight {
	f := &flight{answered: make(chan struct{})}
	r.closing.Lock()
	defer r.closing.Unlock()
	if r.closed {
		f.err = errors.New("the client is closed")
		f.wake()
		return f
	}
	e.flight = f
	r.reading.Go(func() {
		took := false
		err := r.read(account, func(answer A) {
			if r.take(e, answer) {
				took = true
			}
			f.wake()
		})
		e.mu.Lock()
		defer e.mu.Unlock()
		switch {
		case err != nil:
			e.retryAt, e.failed = time.Now().Add(retryAfter), err
		case !took: // no cache has anything newer
			e.retryAt = time.Now().Add(jitter(min(r.cfg.TTL, troubledTTL)))
		}
		f.err, e.flight = err, nil
		f.wake()
	})
	return f
}

// retryAfter is the pause after a read of an account that brought nothing better.
const retryAfter = 250 * time.Millisecond

// troubledTTL is how long an answer is kept that is not in normal mode.
const troubledTTL = time.Second

// take makes an answer that of the account, if it is better than the one there is.
func (r *reads[A]) take(e *entry[A], answer A) (took bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	head := answer.head()
	if e.head != nil && head.tickMs == e.head.tickMs {
		head.first = e.head.first
	}
	if e.head != nil && !better(head, e.head) {
		return false
	}
	e.answer, e.head, e.ttl = answer, head, jitter(r.cfg.TTL)
	if head.modeAt(time.Now()) != Normal {
		e.ttl = jitter(min(r.cfg.TTL, troubledTTL))
	}
	return true
}

// jitter returns d, up to a tenth more or less.
func jitter(d time.Duration) time.Duration { return d * time.Duration(900+rand.IntN(200)) / 1000 }

// sameAge is by how much the ages of two answers with the same figures differ at most, by the times
// of the requests.
const sameAge = 100 * time.Millisecond

// better reports whether an answer is to be used in place of another one: of two in one mode the
// newer one. A cache that is cut off from its brokers may answer with older figures than the client
// has.
func better(answer, former *header) bool {
	now := time.Now()
	if a, b := answer.modeAt(now), former.modeAt(now); a != b {
		return a < b
	}
	a, b := answer.ageAt(now), former.ageAt(now)
	return b < 0 || a >= 0 && a <= b+sameAge
}

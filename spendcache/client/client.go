package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/weirhq/weir/api/weirpb/weirpbconnect"
)

// Client reads accounts from spend caches and keeps them for some seconds. It is safe for
// concurrent use.
type Client struct {
	cfg       Config
	http      *http.Client
	endpoints []*endpoint
	entries   *lru.Cache[string, *entry]
	requests  chan struct{} // one for each account that is being read
	waiting   atomic.Int64  // reads that wait for their turn
	closing   sync.Mutex
	closed    bool // no read begins any more
	reading   sync.WaitGroup
	ctx       context.Context // ends with Close
	cancel    context.CancelFunc
	counters  counters
}

// entry is what the client has of an account.
type entry struct {
	mu     sync.Mutex
	answer *Account      // nil: none yet
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

// New returns a client. It sends nothing. Its error is ErrConfig.
func New(cfg Config) (*Client, error) {
	cfg.Endpoints = append([]string(nil), cfg.Endpoints...)
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	entries, err := lru.New[string, *entry](cfg.MaxAccounts)
	if err != nil {
		return nil, fmt.Errorf("%w: MaxAccounts: %w", ErrConfig, err)
	}
	c := &Client{
		cfg: cfg, entries: entries, requests: make(chan struct{}, cfg.MaxRequests),
		// A redirect would send the request, and the token, to another server.
		http: &http.Client{
			Transport: cfg.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	auth := connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			if cfg.Token != "" {
				req.Header().Set("Authorization", "Bearer "+cfg.Token)
			}
			return next(ctx, req)
		}
	})
	opts := []connect.ClientOption{connect.WithInterceptors(auth), connect.WithReadMaxBytes(maxAnswer)}
	for _, url := range cfg.Endpoints {
		c.endpoints = append(c.endpoints, &endpoint{url: url, cache: weirpbconnect.NewSpendCacheServiceClient(c.http, url, opts...)})
	}
	return c, nil
}

// maxAnswer bounds an answer, in bytes.
const maxAnswer = 64 << 20

// Close ends the requests that are under way, and closes idle connections.
func (c *Client) Close() {
	c.closing.Lock()
	c.closed = true
	c.closing.Unlock()
	c.cancel()
	c.reading.Wait()
	c.http.CloseIdleConnections()
}

// ErrUnknown means that the spend of the account is not known: no spend cache has answered yet. The
// error that wraps it has the reasons.
var ErrUnknown = errors.New("the spend of the account is not known")

// Account returns the spend of an account. It waits at most for Config.Limit, and only if there is
// no answer in memory that is younger than Config.TTL. It returns an older answer if no spend cache
// answers in time, or if all have failed in the last second, and ErrUnknown if there is none. If
// ctx ends first, it returns the answer that it has, or the error of ctx.
func (c *Client) Account(ctx context.Context, account string) (*Account, error) {
	e := c.entry(account)
	now := time.Now()
	e.mu.Lock()
	answer, since := e.answer, time.Duration(0)
	if answer != nil {
		since = now.Sub(answer.fetched)
	}
	if answer != nil && since < e.ttl*refreshAhead/10 {
		e.mu.Unlock()
		c.counters.hits.Add(1)
		return answer, nil
	}
	f, failed := e.flight, error(nil)
	switch {
	case f != nil:
	case now.Before(e.retryAt):
		failed = e.failed
	default:
		f = c.start(account, e) //nolint:contextcheck // others may wait for the answer longer than this caller
	}
	fresh := answer != nil && since < e.ttl
	e.mu.Unlock()
	switch {
	case fresh:
		c.counters.hits.Add(1)
		return answer, nil
	case answer != nil && (f == nil || c.troubled(now)): // to wait would not help
		c.counters.old.Add(1)
		return answer, nil
	case f == nil:
		c.counters.unknown.Add(1)
		return nil, fmt.Errorf("%w: %w", ErrUnknown, failed)
	}
	c.counters.waits.Add(1)
	return c.await(ctx, e, f)
}

// refreshAhead is the part of the TTL, in tenths, after which an answer is read again in the
// background.
const refreshAhead = 8

// entry returns the entry of an account.
func (c *Client) entry(account string) *entry {
	if e, ok := c.entries.Get(account); ok {
		return e
	}
	e := &entry{}
	if was, ok, _ := c.entries.PeekOrAdd(account, e); ok {
		return was
	}
	return e
}

// await waits for a read, and returns the newest answer.
func (c *Client) await(ctx context.Context, e *entry, f *flight) (*Account, error) {
	limit := time.NewTimer(c.cfg.Limit)
	defer limit.Stop()
	var why error
	answered := false
	select {
	case <-f.answered:
		answered = true
	case <-limit.C:
		why = fmt.Errorf("no spend cache has answered within %v", c.cfg.Limit)
	case <-ctx.Done():
		why = ctx.Err()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if answered {
		why = f.err
	}
	if e.answer != nil {
		if why != nil {
			c.counters.old.Add(1)
		}
		return e.answer, nil
	}
	c.counters.unknown.Add(1)
	return nil, fmt.Errorf("%w: %w", ErrUnknown, why)
}

// start begins to read an account. The caller holds e.mu.
func (c *Client) start(account string, e *entry) *flight {
	f := &flight{answered: make(chan struct{})}
	c.closing.Lock()
	defer c.closing.Unlock()
	if c.closed {
		f.err = errors.New("the client is closed")
		f.wake()
		return f
	}
	e.flight = f
	c.reading.Go(func() {
		took := false
		err := c.read(account, func(answer *Account) {
			if c.take(e, answer) {
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
			e.retryAt = time.Now().Add(jitter(min(c.cfg.TTL, troubledTTL)))
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
func (c *Client) take(e *entry, answer *Account) (took bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.answer != nil && !better(answer, e.answer) {
		return false
	}
	e.answer, e.ttl = answer, jitter(c.cfg.TTL)
	if answer.mode != Normal {
		e.ttl = jitter(min(c.cfg.TTL, troubledTTL))
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
func better(answer, former *Account) bool {
	now := time.Now()
	if a, b := answer.modeAt(now), former.modeAt(now); a != b {
		return a < b
	}
	a, b := answer.ageAt(now), former.ageAt(now)
	return b < 0 || a >= 0 && a <= b+sameAge
}

package client

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/api/weirpb/weirpbconnect"
	"github.com/weirhq/weir/internal/serverurl"
)

// Client reads accounts from spend caches and keeps them for some seconds. It is safe for
// concurrent use.
type Client struct {
	cfg       Config
	http      *http.Client
	endpoints []*endpoint
	accounts  *reads[*Account]
	pacing    *reads[*Pacing]
	requests  chan struct{} // one for each account that is being read
	waiting   atomic.Int64  // reads that wait for their turn
	closing   sync.Mutex
	closed    bool // no read begins any more
	reading   sync.WaitGroup
	ctx       context.Context // ends with Close
	cancel    context.CancelFunc
	counters  counters
	reporter  reporter
}

// New returns a client. It sends nothing. Its error is ErrConfig.
func New(cfg Config) (*Client, error) {
	cfg.Endpoints = append([]string(nil), cfg.Endpoints...)
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	c := &Client{
		cfg: cfg, requests: make(chan struct{}, cfg.MaxRequests), reporter: newReporter(),
		// A redirect would send the request, and the token, to another server.
		http: &http.Client{
			Transport: cfg.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	accounts, err := newReads(c, c.askAccount)
	if err != nil {
		return nil, err
	}
	pacing, err := newReads(c, c.askPacing)
	if err != nil {
		return nil, err
	}
	c.accounts, c.pacing = accounts, pacing
	c.ctx, c.cancel = context.WithCancel(context.Background())
	opts := []connect.ClientOption{connect.WithInterceptors(serverurl.Bearer(cfg.Token)), connect.WithReadMaxBytes(maxAnswer)}
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

// ErrUnknown means that no spend cache has answered for the account yet. The error that wraps it
// has the reasons.
var ErrUnknown = errors.New("no spend cache has answered for the account")

// Account returns the spend of an account. It waits at most for Config.Limit, and only if there is
// no answer in memory that is younger than Config.TTL. It returns an older answer if no spend cache
// answers in time, or if all have failed in the last second, and ErrUnknown if there is none. If
// ctx ends first, it returns the answer that it has, or the error of ctx.
func (c *Client) Account(ctx context.Context, account string) (*Account, error) {
	return c.accounts.get(ctx, account)
}

// askAccount asks an endpoint for the spend of an account.
func (c *Client) askAccount(ctx context.Context, e *endpoint, account string) (*Account, error) {
	began := time.Now()
	res, err := e.cache.GetAccount(ctx, connect.NewRequest(&weirpb.GetAccountRequest{
		Account: account, From: c.cfg.From(account), Parts: c.cfg.Parts,
	}))
	if err != nil {
		return nil, err
	}
	return c.newAccount(e.url, res.Msg, began), nil
}

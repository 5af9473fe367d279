package api

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/api/weirpb/weirpbconnect"
	"github.com/weirhq/weir/internal/hostcheck"
	"github.com/weirhq/weir/internal/serverurl"
	"github.com/weirhq/weir/jobqueue/jobpb/jobpbconnect"
)

// Client sends requests to one weir process. Its errors state what failed, why and what to do;
// connect.CodeOf returns their code. It is safe for concurrent use.
type Client struct {
	server  string // host:port, for error texts
	tls     bool   // the client speaks https
	http    *http.Client
	spend   weirpbconnect.SpendServiceClient
	adjust  weirpbconnect.AdjustmentServiceClient
	budgets weirpbconnect.BudgetServiceClient
	pacing  weirpbconnect.PacingServiceClient
	cache   weirpbconnect.SpendCacheServiceClient
	cluster weirpbconnect.ClusterServiceClient
	state   weirpbconnect.StateServiceClient
	jobs    jobpbconnect.JobServiceClient
	addrErr error // the address is invalid: every call returns this error
}

// ClientConfig configures a Client. Only Server has no default.
type ClientConfig struct {
	Server string // host:port, or a URL that begins with http:// or https://
	Token  string // sent as a bearer token, only over https or to this machine. Defaults to none.
	// Roots are the certificate authorities that the client trusts. Defaults to the system's.
	Roots *x509.CertPool
	// Transport carries the calls. Defaults to a new transport with Roots and the system's proxy
	// settings.
	Transport http.RoundTripper
}

const (
	callTimeout = 15 * time.Second // for a call, with the connection setup
	waitTimeout = 75 * time.Second // for a call with wait: more than the server's limit, whose error has details
	dialTimeout = 5 * time.Second

	maxAnswerBytes = 64 << 20
)

// NewClient returns a client of the process at server: host:port such as 127.0.0.1:8080, or a URL.
// It does not connect. If the address is invalid, the first call returns the error.
func NewClient(server string) *Client {
	return NewClientWith(ClientConfig{Server: server})
}

// NewClientWith returns a client with a token or with another transport.
func NewClientWith(cfg ClientConfig) *Client {
	base, err := baseURL(cfg.Server)
	if err == nil && cfg.Token != "" && base.Scheme != "https" && !hostcheck.IsLoopback(base.Hostname()) {
		err = clientErrorf(connect.CodeInvalidArgument,
			"the token is not sent over plain HTTP to %s, where others could read it: use https://%s", base.Host, base.Host)
	}
	if err != nil {
		base = &url.URL{} // no call is sent to it
	}
	if cfg.Transport == nil {
		cfg.Transport = &http.Transport{
			Proxy:                  http.ProxyFromEnvironment, // loopback never uses the proxy
			DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: cfg.Roots},
			TLSHandshakeTimeout:    dialTimeout,
			IdleConnTimeout:        time.Minute,
			ForceAttemptHTTP2:      true,
			MaxResponseHeaderBytes: 256 << 10,
		}
	}
	c := &Client{
		server: base.Host, tls: base.Scheme == "https", addrErr: err,
		http: &http.Client{
			Transport: cfg.Transport,
			// A weir process sends no redirects. Following one would send the request, and the
			// token, to another server.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	opts := []connect.ClientOption{connect.WithInterceptors(serverurl.Bearer(cfg.Token)), connect.WithReadMaxBytes(maxAnswerBytes)}
	c.spend = weirpbconnect.NewSpendServiceClient(c.http, base.String(), opts...)
	c.adjust = weirpbconnect.NewAdjustmentServiceClient(c.http, base.String(), opts...)
	c.budgets = weirpbconnect.NewBudgetServiceClient(c.http, base.String(), opts...)
	c.pacing = weirpbconnect.NewPacingServiceClient(c.http, base.String(), opts...)
	c.cache = weirpbconnect.NewSpendCacheServiceClient(c.http, base.String(), opts...)
	c.cluster = weirpbconnect.NewClusterServiceClient(c.http, base.String(), opts...)
	c.state = weirpbconnect.NewStateServiceClient(c.http, base.String(), opts...)
	// To compress answers with jobs takes a sixth of the CPU time of their life cycles, and most
	// agents are near their server.
	opts = append(opts, connect.WithAcceptCompression("gzip", nil, nil))
	c.jobs = jobpbconnect.NewJobServiceClient(c.http, base.String(), opts...)
	return c
}

// baseURL parses host:port, :port, a bare host or a URL without a path.
func baseURL(server string) (*url.URL, error) {
	text := server
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "", strings.Trim(u.Path, "/") != "", u.RawQuery != "",
		u.Fragment != "":
		return nil, clientErrorf(connect.CodeInvalidArgument,
			"server %q is not an address: use host:port such as 127.0.0.1:8080, or a URL without a path", server)
	case u.User != nil:
		return nil, clientErrorf(connect.CodeInvalidArgument,
			"the server address contains a user name, which process lists would show: use a token")
	}
	host, port := u.Hostname(), u.Port()
	if host == "" {
		host = "127.0.0.1"
	}
	if port == "" {
		port = map[string]string{"http": "8080", "https": "443"}[u.Scheme]
	}
	return &url.URL{Scheme: u.Scheme, Host: net.JoinHostPort(host, port)}, nil
}

// Server returns the host:port that the client calls.
func (c *Client) Server() string { return c.server }

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// GetSpend returns the spend of one campaign. With Wait it may take as long as the server's
// WaitLimit.
func (c *Client) GetSpend(ctx context.Context, req *weirpb.GetSpendRequest) (*weirpb.GetSpendResponse, error) {
	limit := callTimeout
	if req.GetWait() {
		limit = waitTimeout
	}
	return call(ctx, c, limit, c.spend.GetSpend, req)
}

// PollSpend returns the spend of one campaign as soon as it differs from the answer with the
// request's version, or no spend after the request's wait.
func (c *Client) PollSpend(ctx context.Context, req *weirpb.PollSpendRequest) (*weirpb.PollSpendResponse, error) {
	return call(ctx, c, waitTimeout, c.spend.PollSpend, req)
}

// ListSpend returns a page of the spend of an account.
func (c *Client) ListSpend(ctx context.Context, req *weirpb.ListSpendRequest) (*weirpb.ListSpendResponse, error) {
	return call(ctx, c, callTimeout, c.spend.ListSpend, req)
}

// TopSpend returns the campaigns with the greatest figures of one or more budget days.
func (c *Client) TopSpend(ctx context.Context, req *weirpb.TopSpendRequest) (*weirpb.TopSpendResponse, error) {
	return call(ctx, c, callTimeout, c.spend.TopSpend, req)
}

// ListAdjustments returns a page of the adjustments of an account. With Wait it may take as long as
// the server's WaitLimit.
func (c *Client) ListAdjustments(ctx context.Context, req *weirpb.ListAdjustmentsRequest) (*weirpb.ListAdjustmentsResponse, error) {
	limit := callTimeout
	if req.GetWait() {
		limit = waitTimeout
	}
	return call(ctx, c, limit, c.adjust.ListAdjustments, req)
}

// SetBudgets writes budgets and returns when they are applied.
func (c *Client) SetBudgets(ctx context.Context, req *weirpb.SetBudgetsRequest) (*weirpb.SetBudgetsResponse, error) {
	return call(ctx, c, waitTimeout, c.budgets.SetBudgets, req)
}

// GetBudgets returns the versions of the budgets of an account.
func (c *Client) GetBudgets(ctx context.Context, req *weirpb.GetBudgetsRequest) (*weirpb.GetBudgetsResponse, error) {
	return call(ctx, c, callTimeout, c.budgets.GetBudgets, req)
}

// ListBudgets returns a page of the versions of all accounts.
func (c *Client) ListBudgets(ctx context.Context, req *weirpb.ListBudgetsRequest) (*weirpb.ListBudgetsResponse, error) {
	return call(ctx, c, callTimeout, c.budgets.ListBudgets, req)
}

// GetPacing returns how an account is paced, or one of its campaigns.
func (c *Client) GetPacing(ctx context.Context, req *weirpb.GetPacingRequest) (*weirpb.GetPacingResponse, error) {
	return call(ctx, c, callTimeout, c.pacing.GetPacing, req)
}

// ListPacing returns a page of the accounts that are paced.
func (c *Client) ListPacing(ctx context.Context, req *weirpb.ListPacingRequest) (*weirpb.ListPacingResponse, error) {
	return call(ctx, c, callTimeout, c.pacing.ListPacing, req)
}

// OverrideLeader lets a process lead a shard for a time, or withdraws the override of a shard.
func (c *Client) OverrideLeader(ctx context.Context, req *weirpb.OverrideLeaderRequest) (*weirpb.OverrideLeaderResponse, error) {
	return call(ctx, c, waitTimeout, c.pacing.OverrideLeader, req)
}

// OverrideWriter lets ad servers have the parameters that a datacentre writes, or withdraws the
// override. The proto file has its errors.
func (c *Client) OverrideWriter(ctx context.Context, req *weirpb.OverrideWriterRequest) (*weirpb.OverrideWriterResponse, error) {
	return call(ctx, c, waitTimeout, c.pacing.OverrideWriter, req)
}

// OverrideCampaign stops a campaign for a time, gives it a fixed probability, or withdraws the
// override of a campaign.
func (c *Client) OverrideCampaign(ctx context.Context, req *weirpb.OverrideCampaignRequest) (*weirpb.OverrideCampaignResponse, error) {
	return call(ctx, c, waitTimeout, c.pacing.OverrideCampaign, req)
}

// ListOverrides returns the overrides that are in force.
func (c *Client) ListOverrides(ctx context.Context, req *weirpb.ListOverridesRequest) (*weirpb.ListOverridesResponse, error) {
	return call(ctx, c, callTimeout, c.pacing.ListOverrides, req)
}

// GetPacingStatus returns the pacing of each partition.
func (c *Client) GetPacingStatus(ctx context.Context, req *weirpb.GetPacingStatusRequest) (*weirpb.GetPacingStatusResponse, error) {
	return call(ctx, c, waitTimeout, c.pacing.GetPacingStatus, req)
}

// ListHealth returns the newest histogram of each shard.
func (c *Client) ListHealth(ctx context.Context) (*weirpb.ListHealthResponse, error) {
	return call(ctx, c, callTimeout, c.spend.ListHealth, &weirpb.ListHealthRequest{})
}

// GetParameters returns the parameters of the campaigns of an account from the spend cache of the
// process.
func (c *Client) GetParameters(ctx context.Context, req *weirpb.GetParametersRequest) (*weirpb.GetParametersResponse, error) {
	return call(ctx, c, callTimeout, c.cache.GetParameters, req)
}

// GetAccount returns the spend of an account from the spend cache of the process.
func (c *Client) GetAccount(ctx context.Context, req *weirpb.GetAccountRequest) (*weirpb.GetAccountResponse, error) {
	return call(ctx, c, callTimeout, c.cache.GetAccount, req)
}

// ListDatasets returns the datasets of each shard in the spend cache of the process.
func (c *Client) ListDatasets(ctx context.Context, req *weirpb.ListDatasetsRequest) (*weirpb.ListDatasetsResponse, error) {
	res, err := call(ctx, c, callTimeout, c.cache.ListDatasets, req)
	if err == nil && res.GetCampaign() != req.GetCampaign() {
		return nil, errorf(connect.CodeUnavailable,
			"a process of an earlier version has answered. It does not read the rows of a campaign: update it")
	}
	return res, err
}

// GetCluster returns the brokers, and the names and settings that producers and commands need in
// common with the server.
func (c *Client) GetCluster(ctx context.Context) (*weirpb.GetClusterResponse, error) {
	return call(ctx, c, callTimeout, c.cluster.GetCluster, &weirpb.GetClusterRequest{})
}

// CreateSavepoint makes the process take a savepoint of its state of an application. The process
// reads all of that state, which may take a minute.
func (c *Client) CreateSavepoint(ctx context.Context, req *weirpb.CreateSavepointRequest) (*weirpb.CreateSavepointResponse, error) {
	return call(ctx, c, waitTimeout, c.cluster.CreateSavepoint, req)
}

// ListPartitions returns the tasks that all processes have of the applications of the process.
func (c *Client) ListPartitions(ctx context.Context) (*weirpb.ListPartitionsResponse, error) {
	return call(ctx, c, callTimeout, c.cluster.ListPartitions, &weirpb.ListPartitionsRequest{})
}

// GetState returns the value of one key.
func (c *Client) GetState(ctx context.Context, req *weirpb.GetStateRequest) (*weirpb.GetStateResponse, error) {
	return call(ctx, c, callTimeout, c.state.GetState, req)
}

// ScanState returns one page of the keys of a table.
func (c *Client) ScanState(ctx context.Context, req *weirpb.ScanStateRequest) (*weirpb.ScanStateResponse, error) {
	return call(ctx, c, callTimeout, c.state.ScanState, req)
}

// HashState returns checksums of the partitions. It may take as long as the server's limit.
func (c *Client) HashState(ctx context.Context, req *weirpb.HashStateRequest) (*weirpb.HashStateResponse, error) {
	return call(ctx, c, waitTimeout, c.state.HashState, req)
}

type unary[Req, Res any] func(context.Context, *connect.Request[Req]) (*connect.Response[Res], error)

func call[Req, Res any](ctx context.Context, c *Client, limit time.Duration, do unary[Req, Res], req *Req) (*Res, error) {
	if c.addrErr != nil {
		return nil, c.addrErr
	}
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	begin := time.Now()
	res, err := do(bounded, connect.NewRequest(req))
	if err == nil {
		return res.Msg, nil
	}
	if ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled) {
		return nil, &clientError{text: "interrupted before the server answered", err: err}
	}
	return nil, c.explain(err, time.Since(begin))
}

// clientError has its own text, and unwraps to the cause for errors.Is and connect.CodeOf.
type clientError struct {
	text string
	err  error
}

func (e *clientError) Error() string { return e.text }
func (e *clientError) Unwrap() error { return e.err }

func clientErrorf(code connect.Code, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	return &clientError{text: text, err: connect.NewError(code, errors.New(text))}
}

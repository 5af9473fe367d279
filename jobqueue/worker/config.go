package worker

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"

	"github.com/weirhq/weir/internal/serverurl"
	"github.com/weirhq/weir/jobqueue/jobpb"
	"github.com/weirhq/weir/jobqueue/jobpb/jobpbconnect"
)

// Config is the configuration of a Worker. Servers, Queue and Run must be set. The zero value of
// every other field works.
type Config struct {
	// Servers are the URLs of processes with the role jobs, such as http://127.0.0.1:8080. One is
	// used until it does not answer; then the next one.
	Servers []string
	// Token is sent as a bearer token. Defaults to none.
	Token string
	// Roots are the certificate authorities that the worker trusts. Defaults to the system's.
	Roots *x509.CertPool
	// Transport carries the requests. Defaults to a new transport with Roots.
	Transport http.RoundTripper
	// Queue is the name of the queue.
	Queue string
	// Agent is the name of the worker, which no other worker of the queue has. Defaults to the name
	// of the machine and a random number.
	Agent string
	// Has has the resources of the worker: it gets jobs that require no others. Defaults to none.
	Has []string
	// Slots is how many jobs run at a time. Defaults to 1.
	Slots int
	// Policy is wait, greedy or delay: which jobs the worker takes that prefer resources of other
	// agents. Defaults to greedy.
	Policy string
	// Delay is for how long the policy delay leaves such jobs to the others. Defaults to 0.
	Delay time.Duration
	// Grace is for how long jobs go on after the context of Run has ended. Defaults to 30 s.
	// Negative: not at all. After it, reports are repeated for 5 s, and if it is negative not at
	// all: the attempts end with their leases.
	Grace time.Duration
	// Run runs a job. Several calls run at a time. The result has at most 4 KiB: larger ones are
	// stored in another system, and the result is a reference.
	Run func(ctx context.Context, j *Job) (result []byte, err error)
	// Log gets a line for each problem. Defaults to no log.
	Log *zerolog.Logger

	service service // of tests; nil: Servers
}

// service is the part of JobService that a worker needs.
type service interface {
	PollJobs(context.Context, *connect.Request[jobpb.PollJobsRequest]) (*connect.Response[jobpb.PollJobsResponse], error)
	HeartbeatJobs(context.Context, *connect.Request[jobpb.HeartbeatJobsRequest]) (*connect.Response[jobpb.HeartbeatJobsResponse], error)
	ReportJobs(context.Context, *connect.Request[jobpb.ReportJobsRequest]) (*connect.Response[jobpb.ReportJobsResponse], error)
}

// ErrConfig means that the Config is wrong. The error names the field.
var ErrConfig = errors.New("invalid configuration of a worker")

// setDefaults sets defaults and returns an error for an invalid field: ErrConfig.
func (c *Config) setDefaults() error {
	c.Slots, c.Grace, c.Policy = cmp.Or(c.Slots, 1), cmp.Or(c.Grace, 30*time.Second), cmp.Or(c.Policy, "greedy")
	if c.Agent == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "worker"
		}
		c.Agent = fmt.Sprintf("%s-%08x", host, rand.Uint32()) //nolint:gosec // a name
	}
	if c.Log == nil {
		c.Log = new(zerolog.Nop())
	}
	switch {
	case len(c.Servers) == 0 && c.service == nil:
		return fmt.Errorf("%w: Servers is empty: set the URL of a process with the role jobs, such as http://127.0.0.1:8080", ErrConfig)
	case c.Queue == "":
		return fmt.Errorf("%w: Queue is empty: set the name of a queue", ErrConfig)
	case c.Run == nil:
		return fmt.Errorf("%w: Run is nil: set the function that runs a job", ErrConfig)
	case c.Slots < 1 || c.Slots > 1000:
		return fmt.Errorf("%w: Slots is %d: 1 to 1000 are possible", ErrConfig, c.Slots)
	case c.Delay < 0:
		return fmt.Errorf("%w: Delay is negative: leave it 0 for none", ErrConfig)
	}
	if c.Transport == nil {
		c.Transport = serverurl.Transport(c.Roots, dialLimit)
	}
	return nil
}

const dialLimit = 5 * time.Second

// services returns the clients of the servers.
func (c *Config) services() (list []service, err error) {
	if c.service != nil {
		return []service{c.service}, nil
	}
	for _, text := range c.Servers {
		base, err := serverurl.Parse(text, c.Token)
		if err != nil {
			return nil, fmt.Errorf("%w: Servers: %w", ErrConfig, err)
		}
		client := &http.Client{
			Transport: c.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		list = append(list, jobpbconnect.NewJobServiceClient(client, base, connect.WithInterceptors(serverurl.Bearer(c.Token)),
			connect.WithAcceptCompression("gzip", nil, nil))) // which takes the server a sixth of the CPU time of life cycles
	}
	return list, nil
}

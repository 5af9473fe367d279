package client

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/weirhq/weir/internal/serverurl"
)

// Config is the configuration of a Client. Endpoints must be set. The zero value of every other
// field works.
type Config struct {
	// Endpoints are the URLs of the APIs of processes with a spend cache, such as
	// https://weir.eu:8080: first those of the own datacentre, then of others. While the Kafka of a
	// datacentre does not answer, its caches get no news, so name one of another datacentre.
	Endpoints []string
	// Token is sent as a bearer token. Defaults to none.
	Token string
	// Roots are the certificate authorities that the client trusts. Defaults to the system's.
	Roots *x509.CertPool
	// Transport carries the requests. Defaults to a new transport with Roots.
	Transport http.RoundTripper
	// TTL is how long an answer is kept before it is read again. Each answer gets up to a tenth
	// more or less, at random. Defaults to 5 s.
	TTL time.Duration
	// Limit is the longest time for which Account waits. Defaults to 50 ms.
	Limit time.Duration
	// Timeout bounds a request. One that takes longer than Limit serves later callers. Defaults to
	// 2 s.
	Timeout time.Duration
	// MaxAccounts is the number of accounts in memory. The one that was asked for least recently is
	// removed. Defaults to 100,000.
	MaxAccounts int
	// MaxRequests bounds the accounts that are read at a time. Defaults to 64.
	MaxRequests int
	// Stale is the age from which on the mode of an answer is Degraded. Defaults to 30 s.
	Stale time.Duration
	// Unusable is the age from which on the mode is FailSafe. Defaults to 10 minutes.
	Unusable time.Duration
	// StaleParameters is the age from which on the mode of a Pacing is Degraded. The controller
	// writes parameters that do not change once a minute. Defaults to 90 s.
	StaleParameters time.Duration
	// ServeUnpaced is whether campaigns and arms without budgets take part in all auctions.
	// Defaults to none: a campaign that is new, or whose name is misspelt, would spend without a
	// limit.
	ServeUnpaced bool
	// From is the first budget day of the answers, YYYY-MM-DD, for an account. A cache refuses an
	// account with more than 50,000 rows: choose a later day for such a one. Defaults to yesterday
	// in UTC.
	From func(account string) string
	// Parts is whether answers have the spend by line item and arm.
	Parts bool
}

// ErrConfig means that the Config is wrong. The error names the field.
var ErrConfig = errors.New("invalid configuration of a client of spend caches")

// setDefaults sets defaults and returns an error for an invalid field: ErrConfig.
func (c *Config) setDefaults() error {
	c.TTL, c.Limit = cmp.Or(c.TTL, 5*time.Second), cmp.Or(c.Limit, 50*time.Millisecond)
	c.Timeout = cmp.Or(c.Timeout, 2*time.Second)
	c.MaxAccounts, c.MaxRequests = cmp.Or(c.MaxAccounts, 100_000), cmp.Or(c.MaxRequests, 64)
	c.Stale, c.Unusable = cmp.Or(c.Stale, 30*time.Second), cmp.Or(c.Unusable, 10*time.Minute)
	c.StaleParameters = cmp.Or(c.StaleParameters, min(90*time.Second, c.Unusable))
	if c.From == nil {
		c.From = func(string) string { return "" }
	}
	switch {
	case len(c.Endpoints) == 0:
		return fmt.Errorf("%w: Endpoints is empty: set the URL of a spend cache, such as https://weir.eu:8080", ErrConfig)
	case c.TTL < 0, c.Limit < 0, c.Timeout < 0, c.MaxAccounts < 0, c.MaxRequests < 0:
		return fmt.Errorf("%w: TTL, Limit, Timeout, MaxAccounts or MaxRequests is negative: leave it 0 for its default", ErrConfig)
	case c.Stale < 0 || c.Unusable < c.Stale || c.StaleParameters < 0 || c.Unusable < c.StaleParameters:
		return fmt.Errorf("%w: answers are degraded from %v on, parameters from %v on, and both unusable from %v on: "+
			"these times do not ascend", ErrConfig, c.Stale, c.StaleParameters, c.Unusable)
	}
	for i, e := range c.Endpoints {
		u, err := serverurl.Parse(e, c.Token)
		if err != nil {
			return fmt.Errorf("%w: Endpoints: %w", ErrConfig, err)
		}
		c.Endpoints[i] = u
	}
	if c.Transport == nil {
		t := serverurl.Transport(c.Roots, c.Timeout)
		t.MaxIdleConnsPerHost = c.MaxRequests
		c.Transport = t
	}
	return nil
}

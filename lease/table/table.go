package table

import (
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
)

// Table sends requests to the lease table, through the endpoints of its regions. It is safe for
// concurrent use. All fields have to be set.
type Table struct {
	Name string
	// New returns a DynamoDB client for a region. It is called once for each region.
	New func(region string) *dynamodb.Client
	// Skew is the maximum difference between two clocks.
	Skew time.Duration
	// Timeout is the limit of one request, with all its attempts and its answer.
	Timeout time.Duration
	// Attempts is the maximum number of attempts of one request.
	Attempts int

	mu      sync.Mutex
	clients map[string]*dynamodb.Client
	retryer aws.Retryer
}

// Client returns the client of a region.
func (t *Table) Client(region string) *dynamodb.Client {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.clients[region]
	if !ok {
		if t.clients == nil {
			t.clients = map[string]*dynamodb.Client{}
		}
		c = t.New(region)
		t.clients[region] = c
	}
	return c
}

// Options sets the options of every request. A caller that sends a request itself passes it to the
// SDK.
func (t *Table) Options(o *dynamodb.Options) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.retryer == nil {
		t.retryer = retry.NewStandard(func(o *retry.StandardOptions) {
			// All attempts have to fit into the timeout. Otherwise the timeout would hide their
			// error.
			o.MaxAttempts, o.MaxBackoff = t.Attempts, t.Timeout/time.Duration(2*t.Attempts)
		})
	}
	o.Retryer = t.retryer
}

// checkClock compares this machine's clock with the Date header of an answer, which has whole
// seconds. DynamoDB read its clock between begun and the arrival of the answer, so a slow answer is
// not taken for a clock difference.
func (t *Table) checkClock(m middleware.Metadata, begun time.Time) error {
	server, ok := awsmiddleware.GetServerTime(m)
	at, ok2 := awsmiddleware.GetResponseAt(m)
	if !ok || !ok2 {
		return nil
	}
	if begun.Sub(server) > t.Skew+time.Second || server.Sub(at) > t.Skew {
		return fmt.Errorf("%w: the time here is %s, at DynamoDB %s; the allowed difference is %v", ErrClock, at.UTC().Format(time.RFC3339),
			server.UTC().Format(time.RFC3339), t.Skew)
	}
	return nil
}

package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Limits of the wait for the first answer of a broker.
const (
	waitingAfter = 3 * time.Second
	answerLimit  = 10 * time.Second
)

// NoAnswerError reports brokers that accept connections and answer no request.
type NoAnswerError struct {
	Brokers []string // host:port
	After   time.Duration
	Others  error // of the brokers that failed otherwise; nil: none
}

// Error names the brokers and the likely cause.
func (e *NoAnswerError) Error() string {
	verb := "accepts connections and sends nothing"
	if len(e.Brokers) > 1 {
		verb = "accept connections and send nothing"
	}
	text := fmt.Sprintf("no broker answered within %s: %s %s; often one side uses TLS and the other side does not", e.After, strings.Join(e.Brokers, ", "), verb)
	if e.Others != nil {
		text += "; " + e.Others.Error()
	}
	return text
}

// Unwrap returns the error of the other brokers.
func (e *NoAnswerError) Unwrap() error { return e.Others }

// Unreachable reports whether err is that no broker accepts connections: none has started yet, a
// name is not known, or the addresses are wrong.
func Unreachable(err error) bool {
	var silent *NoAnswerError
	var op *net.OpError
	return !errors.As(err, &silent) && (errors.As(err, new(*net.DNSError)) || errors.As(err, &op) && op.Op == "dial")
}

// Connect is Client, and returns when one of the brokers has answered. All are asked at the same
// time. If all fail, the error is that of one. If some accept connections and answer nothing for 10
// s, the error is a *NoAnswerError.
func (k Cluster) Connect(ctx context.Context, opts ...kgo.Opt) (*kgo.Client, error) {
	asked := &asked{}
	cl, err := k.Client(append(opts, kgo.WithHooks(asked))...)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	if err := k.awaitAnswer(ctx, cl, asked); err != nil {
		cl.Close()
		return nil, err
	}
	return cl, nil
}

// Reach returns nil when one of the brokers has answered, and else the error of Connect.
func (k Cluster) Reach(ctx context.Context) error {
	cl, err := k.Connect(ctx)
	if err == nil {
		cl.Close()
	}
	return err
}

// asked is a hook that notes the brokers to which a request was written: these have accepted a
// connection.
type asked struct {
	mu      sync.Mutex
	brokers []string
}

// OnBrokerWrite implements kgo.HookBrokerWrite.
func (a *asked) OnBrokerWrite(b kgo.BrokerMetadata, _ int16, _ int, _, _ time.Duration, err error) { //nolint:revive // the interface of kgo
	addr := net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil && len(a.brokers) < maxNamed && !slices.Contains(a.brokers, addr) {
		a.brokers = append(a.brokers, addr)
	}
}

// maxNamed is the number of brokers that an error names.
const maxNamed = 5

// awaitAnswer returns nil when a broker has answered.
func (k Cluster) awaitAnswer(ctx context.Context, cl *kgo.Client, asked *asked) error {
	bounded, cancel := context.WithTimeout(ctx, answerLimit)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	seeds := cl.SeedBrokers()
	answers := make(chan error, len(seeds))
	for _, b := range seeds {
		asking.Go(func() {
			_, err := b.Request(bounded, kmsg.NewPtrApiVersionsRequest())
			answers <- err
		})
	}
	if k.Waiting != nil {
		waiting := time.AfterFunc(waitingAfter, func() { k.Waiting(k.Brokers) })
		defer waiting.Stop()
	}
	var failed error
	late := false
	for range seeds {
		switch err := <-answers; {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, context.DeadlineExceeded):
			late = true
		case failed == nil || RefusalOf(failed) == NotRefused:
			failed = err
		}
	}
	if !late {
		return failed
	}
	asked.mu.Lock()
	defer asked.mu.Unlock()
	if len(asked.brokers) == 0 {
		return &net.OpError{Op: "dial", Net: "tcp", Err: fmt.Errorf("no connection to %s within %s", strings.Join(k.Brokers, ", "), answerLimit)}
	}
	return &NoAnswerError{Brokers: asked.brokers, After: answerLimit, Others: failed}
}

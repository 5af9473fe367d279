package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
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
	text := fmt.Sprintf("no broker answered within %s: %s %s; often one side uses TLS and the other side does not", e.After,
		strings.Join(e.Brokers, ", "), verb)
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

// ClosedAtOnce reports whether err is that a broker, or a proxy in front of it, has closed a
// connection before the first answer.
func ClosedAtOnce(err error) bool {
	return closedFirst(err) || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// closedFirst reports whether a connection without SASL was closed before the first answer: often
// the broker expects TLS or SASL.
func closedFirst(err error) bool { return errors.As(err, new(*kgo.ErrFirstReadEOF)) }

// Connect is Client, and returns when one of the brokers has answered. All are asked at the same
// time, and the client begins with the one that answered first: another may hold its first request
// up. If all fail, the error is that of one, a refusal before others. If some accept connections
// and answer nothing for 10 s, the error is a *NoAnswerError.
func (k Cluster) Connect(ctx context.Context, opts ...kgo.Opt) (*kgo.Client, error) {
	seed, err := k.firstAnswer(ctx)
	if err != nil {
		return nil, err
	}
	cl, err := k.Client(append(opts, kgo.SeedBrokers(seed))...)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return cl, nil
}

// Reach returns nil when one of the brokers has answered, and else the error of Connect.
func (k Cluster) Reach(ctx context.Context) error {
	_, err := k.firstAnswer(ctx)
	return err
}

// answer is how one broker answered.
type answer struct {
	broker   string // host:port
	accepted bool   // a connection was made
	err      error
}

// firstAnswer returns the first broker that answers.
func (k Cluster) firstAnswer(ctx context.Context) (string, error) {
	seeds, err := k.seeds()
	if err != nil {
		return "", err
	}
	bounded, cancel := context.WithTimeout(ctx, answerLimit)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	answers := make(chan answer, len(seeds))
	for _, s := range seeds {
		asking.Go(func() { answers <- k.ask(bounded, s) })
	}
	waiting := time.NewTimer(waitingAfter)
	defer waiting.Stop()
	var failed failedAnswers
	for left := len(seeds); left > 0; {
		select {
		case <-waiting.C:
			if k.Waiting != nil {
				k.Waiting(seeds)
			}
		case a := <-answers:
			if left--; a.err == nil {
				return a.broker, nil
			}
			failed.add(a)
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
	}
	return "", failed.err()
}

// seeds returns the addresses of the brokers, also if Options name them.
func (k Cluster) seeds() ([]string, error) {
	cl, err := k.Client()
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	defer cl.Close()
	seeds, _ := cl.OptValue(kgo.SeedBrokers).([]string)
	return seeds, nil
}

// ask sends a request to one broker.
func (k Cluster) ask(ctx context.Context, broker string) answer {
	var accepted atomic.Bool
	cl, err := k.client(func() { accepted.Store(true) }, kgo.SeedBrokers(broker), kgo.WithHooks(written(func() { accepted.Store(true) })))
	if err != nil {
		return answer{broker, false, fmt.Errorf("make client: %w", err)}
	}
	defer cl.Close()
	_, err = cl.SeedBrokers()[0].Request(ctx, kmsg.NewPtrApiVersionsRequest())
	return answer{broker, accepted.Load(), err}
}

// written is a hook that is called when a request was written, so a connection was made.
type written func()

// OnBrokerWrite implements kgo.HookBrokerWrite.
func (w written) OnBrokerWrite(_ kgo.BrokerMetadata, _ int16, _ int, _, _ time.Duration, //nolint:revive // the interface of kgo
	err error,
) {
	if err == nil {
		w()
	}
}

// failedAnswers collects the answers of brokers that failed.
type failedAnswers struct {
	silent, unreachable []string
	other               error // a refusal, or an error that is not about the network, before others
}

func (f *failedAnswers) add(a answer) {
	var timed net.Error
	late := errors.Is(a.err, context.DeadlineExceeded) || errors.As(a.err, &timed) && timed.Timeout()
	switch {
	case late && a.accepted:
		f.silent = append(f.silent, a.broker)
	case late:
		f.unreachable = append(f.unreachable, a.broker)
	case f.other == nil, RefusalOf(f.other) == NotRefused && (RefusalOf(a.err) != NotRefused || Unreachable(f.other)):
		if f.other = a.err; !Unreachable(a.err) {
			f.other = fmt.Errorf("%s: %w", a.broker, a.err)
		}
	}
}

// maxNamed is the number of brokers that an error names.
const maxNamed = 5

func (f *failedAnswers) err() error {
	switch {
	case RefusalOf(f.other) != NotRefused:
		return f.other
	case len(f.silent) > 0:
		return &NoAnswerError{Brokers: f.silent[:min(len(f.silent), maxNamed)], After: answerLimit, Others: f.other}
	case f.other != nil && !Unreachable(f.other), len(f.unreachable) == 0:
		return f.other
	}
	none := &net.OpError{
		Op: "dial", Net: "tcp",
		Err: fmt.Errorf("no connection to %s within %s", strings.Join(f.unreachable[:min(len(f.unreachable), maxNamed)], ", "),
			answerLimit),
	}
	if f.other == nil {
		return none
	}
	return errors.Join(none, f.other)
}

package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// The coordinator of the group is away for a while. One request fails then; Retry succeeds.
func TestRetryWhileABrokerIsAway(t *testing.T) {
	c, k := fakeKafka(t, "in", 1, kfake.NumBrokers(3))
	away, refusals := "", atomic.Int64{}
	k.Options = []kgo.Opt{kgo.Dialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr == away && refusals.Add(-1) >= 0 {
			return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
		}
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	})}
	describe := func() error {
		cl, err := k.Client()
		if err != nil {
			return err
		}
		defer cl.Close()
		_, err = kadm.NewClient(cl).DescribeGroups(t.Context(), "g")
		return err
	}
	cl, err := k.Client()
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for _, found := range kadm.NewClient(cl).FindGroupCoordinators(t.Context(), "g") {
		away = net.JoinHostPort(found.Host, fmt.Sprint(found.Port))
	}
	// A seed that answers first, so that the client learns of the coordinator.
	for _, addr := range c.ListenAddrs() {
		if addr != away {
			k.Brokers = []string{addr}
		}
	}
	refusals.Store(3)
	if err := describe(); err == nil {
		t.Fatal("a request to a broker that is away succeeds: the test tests nothing")
	}
	if err := Retry(t.Context(), k, time.Minute, describe); err != nil {
		t.Error(err)
	}
	refusals.Store(1 << 40)
	if err := Retry(t.Context(), k, time.Millisecond, describe); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("after the limit: %v", err)
	}
}

// Errors that a wait does not end are returned at once, and so is every error if no broker answers.
func TestRetryGivesUpAtOnce(t *testing.T) {
	_, k := fakeKafka(t, "in", 1)
	for name, tc := range map[string]struct {
		k   Cluster
		err error
	}{
		"no broker":  {Cluster{Brokers: []string{"127.0.0.1:1"}}, kerr.NotCoordinator},
		"no topic":   {k, kerr.UnknownTopicOrPartition},
		"no rights":  {k, kerr.GroupAuthorizationFailed},
		"own error":  {k, errors.New("not readable")},
		"cancelled":  {k, context.Canceled},
		"no failure": {k, nil},
	} {
		calls := 0
		err := Retry(t.Context(), tc.k, time.Minute, func() error { calls++; return tc.err })
		if !errors.Is(err, tc.err) || calls != 1 {
			t.Errorf("%s: %d calls, %v", name, calls, err)
		}
	}
	calls := 0
	if err := Retry(t.Context(), k, time.Minute, func() error {
		if calls++; calls < 3 {
			return fmt.Errorf("describe: %w", kerr.CoordinatorLoadInProgress)
		}
		return nil
	}); err != nil || calls != 3 {
		t.Errorf("a coordinator that loads: %d calls, %v", calls, err)
	}
}

package kafka

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/internal/pause"
)

// FailoverTimeout is longer than the time in which the partitions and groups of a broker that died
// have another one: broker.session.timeout.ms is 9 s, and a coordinator reads its partition.
const FailoverTimeout = 20 * time.Second

const (
	retryPause   = 250 * time.Millisecond
	probeTimeout = 2 * time.Second
)

// Retry calls ask again while one broker of several is away: while its error is that of a
// connection, or of a leader or coordinator that moves, and another broker answers. It returns the
// error of the last call after limit, and at once if no broker answers, since the addresses are
// then wrong more often than not.
func Retry(ctx context.Context, k Cluster, limit time.Duration, ask func() error) error {
	for end := time.Now().Add(limit); ; {
		err := ask()
		if err == nil || !transient(err) || time.Now().After(end) || !answers(ctx, k) || !pause.For(ctx, retryPause) {
			return err
		}
	}
}

// transient reports whether err can end by itself when another broker takes over.
func transient(err error) bool {
	var code *kerr.Error
	if errors.As(err, &code) {
		return code.Retriable && !errors.Is(code, kerr.UnknownTopicOrPartition)
	}
	return kgo.IsRetryableBrokerErr(err) || errors.As(err, new(*kadm.ShardErrors))
}

// answers reports whether a broker answers.
func answers(ctx context.Context, k Cluster) bool {
	cl, err := k.Client(kgo.RetryTimeout(probeTimeout), kgo.DialTimeout(probeTimeout))
	if err != nil {
		return false
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	_, err = kadm.NewClient(cl).BrokerMetadata(ctx)
	return err == nil
}

package local

import (
	"cmp"
	"context"
	"slices"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/page"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
)

// maxDeadLetters bounds the records of a dead-letter topic that are read for a figure.
const maxDeadLetters = 20_000

// deadLetters implements api.DeadLetterSource.
type deadLetters struct{ counter kafkaadmin.DeadLetterCounter }

func newDeadLetters(k kafka.Cluster, topic string) *deadLetters {
	return &deadLetters{kafkaadmin.DeadLetterCounter{Kafka: k, Topic: topic, Limit: maxDeadLetters}}
}

// DeadLetters implements api.DeadLetterSource.
func (d *deadLetters) DeadLetters(ctx context.Context) (page.Rejected, error) {
	counts, records, err := d.counter.Count(ctx)
	if err != nil {
		return page.Rejected{}, err
	}
	if records > maxDeadLetters {
		return page.Rejected{Unread: records}, nil
	}
	var r page.Rejected
	for reason, n := range counts {
		r.Reasons = append(r.Reasons, page.Reason{Reason: cmp.Or(reason, "damaged"), Count: n})
	}
	slices.SortFunc(r.Reasons, func(a, b page.Reason) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason))
	})
	return r, nil
}

var _ api.DeadLetterSource = (*deadLetters)(nil)

package changelog

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weirhq/weir/processors/kafka"
)

// FirstUsed returns the first of topics that has, or had, a record; empty if none has. A topic that
// does not exist has none.
func FirstUsed(ctx context.Context, adm *kadm.Client, topics ...string) (string, error) {
	if len(topics) == 0 {
		return "", nil
	}
	ends, err := adm.ListEndOffsets(ctx, topics...)
	if err != nil {
		return "", fmt.Errorf("read the end offsets of the changelogs: %w", kafka.NameUndescribed(ctx, adm, err, topics...))
	}
	for _, topic := range topics {
		for _, o := range ends[topic] {
			if o.Err != nil && !errors.Is(o.Err, kerr.UnknownTopicOrPartition) {
				return "", fmt.Errorf("read the end offset of %s[%d]: %w", topic, o.Partition, o.Err)
			}
			if o.Offset > 0 {
				return topic, nil
			}
		}
	}
	return "", nil
}

package processors

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
)

// EndOffsets gives the next offset that each partition of a topic will have.
func EndOffsets(ctx context.Context, k Kafka, topic string) (map[int32]int64, error) {
	cl, err := k.Client()
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	defer cl.Close()
	ends, err := kadm.NewClient(cl).ListEndOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("read the ends of %s: %w", topic, err)
	}
	out := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) { out[o.Partition] = o.Offset })
	return out, nil
}

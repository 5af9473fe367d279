package kafka

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
)

// EndOffsets returns the end offset of each partition, by topic and partition. It counts control
// records and the records of open transactions.
func EndOffsets(ctx context.Context, k Cluster, topics ...string) (map[string]map[int32]int64, error) {
	cl, err := k.Connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to the brokers: %w", err)
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	ends, err := adm.ListEndOffsets(ctx, topics...)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("read the end offsets of %v: %w", topics, NameUndescribed(ctx, adm, err, topics...))
	}
	out := map[string]map[int32]int64{}
	for topic, partitions := range ends {
		out[topic] = map[int32]int64{}
		for p, o := range partitions {
			out[topic][p] = o.Offset
		}
	}
	return out, nil
}

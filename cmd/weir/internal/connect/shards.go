package connect

import (
	"context"
	"fmt"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
)

// ShardedTopic is a topic to which a command produces records of accounts.
type ShardedTopic struct {
	Kafka  kafka.Cluster
	Name   string
	Shards int32 // partitions of the configuration
}

// Check returns a failure if records would go to partitions of other accounts, and notes partitions
// that were added to the topic. state is the number of partitions of the counter's state; 0: no
// counter has run.
func (t ShardedTopic) Check(ctx context.Context, a *cli.App, state int32) error {
	has, err := Partitions(ctx, t.Kafka, t.Name)
	if err != nil {
		return err
	}
	right, why := state, fmt.Sprintf("the state of the spend counter has %d partitions", state)
	if state == 0 || has < state {
		right, why = has, fmt.Sprintf("the topic has %d partitions", has)
	}
	if right != t.Shards {
		return &cli.Failure{
			Code: cli.ExitConfig, What: "cannot produce to " + t.Name,
			Why: fmt.Sprintf("%s, and the configuration %d: the spend counter would reject the records", why, t.Shards),
			Do: fmt.Sprintf("set spend.partitions to %d, or spend.generation to the generation of the topics with %d partitions", right,
				t.Shards),
		}
	}
	if has > right {
		added := kafkaadmin.AddedPartitions{Topic: t.Name, State: right, Has: has}
		a.Notef("%s: %s", added, added.Remedy())
	}
	return nil
}

package connect

import (
	"slices"
	"strings"

	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/stream"
)

// KafkaNames returns the names of weir's settings and commands for the remedies of package
// kafkaadmin. groups is the value of --for, which names at least one.
func KafkaNames(c *config.Config, groups []string) kafkaadmin.RemedyNames {
	roles := node.InGroups(groups...)
	return kafkaadmin.RemedyNames{
		Brokers: "kafka.brokers", StateDir: "data_dir",
		SessionTimeout: "processor.session_timeout", TransactionTimeout: "processor.transaction_timeout",
		ReplicationFactor: "topics.replication_factor", MinInsync: "topics.min_insync",
		Partitions: func(topic string) string {
			for _, r := range roles {
				if slices.ContainsFunc(node.Topics(c, []node.Role{r}), func(t stream.Topic) bool { return t.Name == topic }) {
					return r.Group.Partitions
				}
			}
			return roles[0].Group.Partitions // a topic of another generation
		},
		Apply:       "run `weir topics apply --for " + strings.Join(groups, ",") + "`",
		Repartition: "`weir repartition --help` describes the move to new topics",
	}
}

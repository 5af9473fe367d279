package connect

import (
	"strings"

	"github.com/weirhq/weir/processors/kafkaadmin"
)

// KafkaNames returns the names of weir's settings and commands for the remedies of package
// kafkaadmin. what is the value of --for.
func KafkaNames(what []string) kafkaadmin.RemedyNames {
	return kafkaadmin.RemedyNames{
		Brokers: "kafka.brokers", StateDir: "data_dir",
		SessionTimeout: "processor.session_timeout", TransactionTimeout: "processor.transaction_timeout",
		ReplicationFactor: "topics.replication_factor", MinInsync: "topics.min_insync",
		Partitions: func(topic string) string {
			if strings.HasPrefix(topic, "ads.") || strings.HasPrefix(topic, "spend") {
				return "spend.partitions"
			}
			return "leases.partitions"
		},
		Apply:       "run `weir topics apply --for " + strings.Join(what, ",") + "`",
		Repartition: "`weir repartition --help` describes the move to new topics",
	}
}

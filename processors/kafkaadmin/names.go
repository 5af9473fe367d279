package kafkaadmin

import "cmp"

// RemedyNames are the words with which remedies refer to settings and commands of the program. They
// default to the fields of this package and of package processors.
type RemedyNames struct {
	Brokers            string // the addresses of the brokers
	StateDir           string // the state directory
	SessionTimeout     string
	TransactionTimeout string
	ReplicationFactor  string
	MinInsync          string
	Partitions         func(topic string) string // the number of partitions of a topic
	Apply              string                    // how to create and alter topics, such as "run `weir topics apply`"
	Repartition        string                    // how to move to topics with another number of partitions
}

func (n *RemedyNames) setDefaults() {
	n.Brokers = cmp.Or(n.Brokers, "Cluster.Brokers")
	n.StateDir = cmp.Or(n.StateDir, "Config.Dir")
	n.SessionTimeout = cmp.Or(n.SessionTimeout, "Config.SessionTimeout")
	n.TransactionTimeout = cmp.Or(n.TransactionTimeout, "Config.TransactionTimeout")
	n.ReplicationFactor = cmp.Or(n.ReplicationFactor, "Defaults.ReplicationFactor")
	n.MinInsync = cmp.Or(n.MinInsync, "Defaults.MinInsync")
	if n.Partitions == nil {
		n.Partitions = func(string) string { return "Topic.Partitions" }
	}
	n.Apply = cmp.Or(n.Apply, "create and alter the topics with Plan and Apply")
	n.Repartition = cmp.Or(n.Repartition, "repartition the state to new topics")
}

package connect

import (
	"slices"

	"github.com/spf13/pflag"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/kafkaadmin"
)

// What topics are for.
const (
	ForSpend  = "spend"
	ForLeases = "leases"
)

// RequiredTopics are the topics that this configuration needs for each of what.
func RequiredTopics(c *config.Config, what ...string) (topics []events.Topic, d kafkaadmin.Defaults) {
	if slices.Contains(what, ForSpend) {
		topics = append(topics, node.SpendRole(c).Topics()...)
	}
	if slices.Contains(what, ForLeases) {
		topics = append(topics, node.LeaseTopics(c)...)
	}
	return topics, kafkaadmin.Defaults{ReplicationFactor: int16(c.Topics.ReplicationFactor), MinInsync: int16(c.Topics.MinInSync)}
}

// ForFlag adds --for.
func ForFlag(f *pflag.FlagSet, what *[]string) {
	f.StringSliceVar(what, "for", []string{ForSpend}, "what it is for: spend, leases")
}

// CheckFor reports values of --for that do not exist.
func CheckFor(what []string) error {
	for _, w := range what {
		if w != ForSpend && w != ForLeases {
			return cli.UsageError("nothing is there for "+w, "give --for spend, --for leases, or both")
		}
	}
	if len(what) == 0 {
		return cli.UsageError("--for is empty", "give --for spend, --for leases, or both")
	}
	return nil
}

package connect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/stream"
)

// RequiredTopics returns the topics that the roles of groups need with this configuration.
func RequiredTopics(c *config.Config, groups []string) []stream.Topic {
	return node.Topics(c, node.InGroups(groups...))
}

// TopicDefaults returns the replication of topics that weir creates, and the names of settings and
// commands for remedies. groups is the value of --for.
func TopicDefaults(c *config.Config, groups []string) kafkaadmin.Defaults {
	return kafkaadmin.Defaults{
		ReplicationFactor: int16(c.Topics.ReplicationFactor), MinInsync: int16(c.Topics.MinInSync), Names: KafkaNames(c, groups),
	}
}

// ForFlag adds --for, a list of groups of roles. CheckFor checks its value.
func ForFlag(f *pflag.FlagSet, groups *[]string) {
	f.StringSliceVar(groups, "for", node.GroupNames()[:1], "groups of roles: "+strings.Join(node.GroupNames(), ", "))
	cli.Enum(f, "for", node.GroupNames()...)
}

// CheckFor returns a usage error if groups is empty or names a group that does not exist.
func CheckFor(groups []string) error {
	known := node.GroupNames()
	for _, g := range groups {
		if !slices.Contains(known, g) {
			return cli.UsageError(fmt.Sprintf("--for %s: no group of roles has this name", g),
				"give one or more of "+strings.Join(known, ", "))
		}
	}
	if len(groups) == 0 {
		return cli.UsageError("--for is empty", "give one or more of "+strings.Join(known, ", "))
	}
	return nil
}

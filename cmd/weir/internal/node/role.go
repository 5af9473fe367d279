package node

import (
	"context"
	"slices"
	"strings"

	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/stream"
)

// Role is a part of the process that `weir run --roles` starts. Each role is one file of this
// package: a function that returns the role's entry, named in Roles. No other code knows the name
// of a role.
type Role struct {
	// Name is the value of --roles and of the label "role": "balancer".
	Name string
	// Summary is the line of the role in the help of `weir run`: what the role does.
	Summary string
	// Group is the group of the role: what --for of topics and doctor selects.
	Group Group
	// Dev is whether `weir dev` runs the role.
	Dev bool

	// Weight is the role's share of the memory budget, relative to the other roles of the process.
	Weight int64
	// Memory divides share, in bytes, between the uses of the role.
	Memory func(c *config.Config, share int64) Allocation

	// Topics returns the topics that must exist. Two roles may return the same topic. Nil: none.
	Topics func(c *config.Config) []stream.Topic
	// Apps returns the applications of the role in the whole deployment, for commands that name
	// one. Nil: it has none.
	Apps func(c *config.Config) ([]App, error)
	// ACLs returns the rights that the role needs of Kafka, one per line.
	ACLs func(c *config.Config) ([]string, error)
	// RepartitionACLs returns the rights that `weir repartition` needs to move the role's state
	// from the generation before, one per line; none in generation 1. Nil: the state cannot move.
	RepartitionACLs func(c *config.Config) ([]string, error)
	// Doctor returns further checks of `weir doctor`. Nil: none.
	Doctor func(ctx context.Context, c *config.Config, k kafka.Cluster) []kafkaadmin.Check

	// Settings are the keys that the operator has to correct when New fails.
	Settings []string
	// Check returns an error if settings contradict each other. Nil: they cannot.
	Check func(c *config.Config) error
	// Remote returns the name of the other cluster that the role depends on, such as a datacentre.
	// A role that depends on one is supervised: its errors do not end the process. Run of its part
	// is called again after an error, so it must be able to begin again. Nil or empty: none.
	Remote func(c *config.Config) string
	// LeaseTable is whether the role needs Setup.Table.
	LeaseTable bool
	// New makes the role's part of a process. It starts nothing.
	New func(s *Setup) (Part, error)
}

// Group is a set of roles that work on the same data: "leases" is the lease loop.
type Group struct {
	// Name is the value of --for, and of --roles if the group has several roles.
	Name string
	// Summary is the line of the group in the help of `weir run`.
	Summary string
	// Partitions is the setting of the topics' number of partitions.
	Partitions string
	// Repartition is what an operator can do when the topics have another number of partitions
	// than the configuration.
	Repartition string
}

// Roles is the role table. Lists of roles are in this order.
func Roles() []Role {
	return []Role{
		spendCounterRole(), mirrorRole(), pushRole(), spendCacheRole(), pacingRole(),
		bridgeRole(), liberatorRole(), dedupRole(), balancerRole(), executorRole(),
		jobsRole(),
	}
}

// Topics returns the topics that roles need, each once.
func Topics(c *config.Config, roles []Role) (topics []stream.Topic) {
	for _, r := range roles {
		if r.Topics == nil {
			continue
		}
		for _, t := range r.Topics(c) {
			if !slices.ContainsFunc(topics, func(o stream.Topic) bool { return o.Name == t.Name }) {
				topics = append(topics, t)
			}
		}
	}
	return topics
}

// NeedLeaseTable reports whether one of roles needs the lease table.
func NeedLeaseTable(roles []Role) bool {
	return slices.ContainsFunc(roles, func(r Role) bool { return r.LeaseTable })
}

// CheckSettings returns a *ConfigError if settings that roles need contradict each other.
func CheckSettings(c *config.Config, roles []Role) error {
	for _, r := range roles {
		if r.Check == nil {
			continue
		}
		if err := r.Check(c); err != nil {
			return r.configError(err)
		}
	}
	return nil
}

// configError explains err by the settings of the role.
func (r Role) configError(err error) error {
	return &ConfigError{"cannot set up the role " + r.Name, err, "correct " + strings.Join(r.Settings, " and ")}
}

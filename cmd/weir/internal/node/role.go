package node

import (
	"slices"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/spendcounter"
)

// What --roles takes, beside the roles of the lease loop one by one.
const (
	RoleSpend  = "spendcounter"
	RoleLeases = "leases" // all roles of the lease loop
)

// RoleNames are the values of --roles.
func RoleNames() []string { return append([]string{RoleSpend, RoleLeases}, allLeaseRoles()...) }

// LeaseRoles are the roles of the lease loop in a list.
func LeaseRoles(list []string) []string {
	return slices.DeleteFunc(expandRoles(list), func(r string) bool { return r == RoleSpend })
}

// expandRoles are all roles that a list stands for, each once.
func expandRoles(list []string) (all []string) {
	for _, r := range append([]string{RoleSpend}, allLeaseRoles()...) {
		if slices.Contains(list, r) || r != RoleSpend && slices.Contains(list, RoleLeases) {
			all = append(all, r)
		}
	}
	return all
}

// The roles of the lease loop.
const (
	RoleBridge    = "bridge"
	roleLiberator = "liberator"
	roleDedup     = "dedup"
	roleBalancer  = "balancer"
	RoleExecutor  = "executor"
)

func allLeaseRoles() []string {
	return []string{RoleBridge, roleLiberator, roleDedup, roleBalancer, RoleExecutor}
}

// SpendRole is the spend counter of this configuration, as far as brokers know it.
func SpendRole(c *config.Config) spendcounter.ProcessorConfig {
	return spendcounter.ProcessorConfig{DC: c.DC, Peers: c.Peers, Layout: events.Layout{Shards: int32(c.Spend.Partitions), Generation: c.Spend.Generation}}
}

// LeaseTopics are the topics of the lease loop with this configuration.
func LeaseTopics(c *config.Config) []events.Topic {
	regions, _ := c.Leases.RegionEndpoints()
	return events.LeaseCatalog(regions, int32(c.Leases.Partitions))
}

package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/spendcounter"
)

// assignment returns the partitions of each member of the spend counter's group, by instance id, or
// an error unless the group is stable.
func (c *cluster) assignment(ctx context.Context) (map[string]map[int32]bool, error) {
	app := c.layout.Name(spendcounter.App)
	groups, err := c.adm.DescribeGroups(ctx, app)
	g := groups[app]
	if err = errors.Join(err, g.Err); err != nil {
		return nil, err
	}
	if g.State != "Stable" {
		return nil, fmt.Errorf("the group is %s", g.State)
	}
	owners := map[string]map[int32]bool{}
	for _, m := range g.Members {
		ps := map[int32]bool{}
		if has, ok := m.Assigned.AsConsumer(); ok {
			for _, topic := range has.Topics {
				for _, p := range topic.Partitions {
					ps[p] = true
				}
			}
		}
		owners[*m.InstanceID] = ps
	}
	return owners, nil
}

// settled waits until the group is stable with the processes alone, all partitions are assigned,
// and the last barrier of each partition is from the process that the partition is assigned to: no
// rebalance is going on, and no takeover.
func (f *follower) settled(c *cluster, processes ...*process) {
	f.t.Helper()
	testlimit.Within(f.t, "the group is settled", func(ctx context.Context) error {
		owners, err := c.assignment(ctx)
		if err != nil {
			return err
		}
		if len(owners) != processors.DefaultWorkers()*len(processes) {
			return fmt.Errorf("the group has %d members", len(owners))
		}
		all := 0
		for _, p := range processes {
			p.alive()
			assigned := map[int32]bool{}
			for id, ps := range owners {
				if strings.HasPrefix(id, c.member(p)) {
					maps.Copy(assigned, ps)
				}
			}
			if owned := f.owned(p.name); !maps.Equal(owned, assigned) {
				return fmt.Errorf("%s is assigned %d partitions, and has taken over %d", p.name, len(assigned), len(owned))
			}
			all += len(assigned)
		}
		if all != int(c.layout.Partitions()) {
			return fmt.Errorf("%d partitions are assigned", all)
		}
		return nil
	})
}

// expel removes the members of a killed process from the group, as the session timeout would.
func (c *cluster) expel(p *process) {
	c.t.Helper()
	var ids []string
	for n := range processors.DefaultWorkers() {
		ids = append(ids, fmt.Sprint(c.member(p), n))
	}
	left, err := c.adm.LeaveGroup(c.t.Context(), kadm.LeaveGroup(c.layout.Name(spendcounter.App)).InstanceIDs(ids...))
	if err == nil {
		err = left.Error()
	}
	if err != nil {
		c.t.Fatalf("remove %s from the group: %v", p.name, err)
	}
}

// member returns the instance ids of a process without the number of the worker.
func (c *cluster) member(p *process) string {
	return c.layout.Name(spendcounter.App) + "-" + p.name + "-"
}

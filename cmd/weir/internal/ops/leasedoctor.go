package ops

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	leaseadmin "github.com/weirhq/weir/agent/admin"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/kafkaadmin"
)

// maxHeartbeatAge is from which age on the last sign of life of a bridge is an old one: it gives one every two seconds.
const maxHeartbeatAge = 30 * time.Second

// leaseChecks look at the table of leases in each region, beside its topics.
func leaseChecks(ctx context.Context, cfg *config.Config) []kafkaadmin.Check {
	l, err := connect.OpenLeaseTable(ctx, cfg.Leases)
	if err != nil {
		f := cli.Explain(err)
		return []kafkaadmin.Check{{Name: "dynamodb", Severity: kafkaadmin.Error, Detail: f.Error(), Remedy: f.Do}}
	}
	checks := tableChecks(ctx, l)
	regions, _ := cfg.Leases.RegionEndpoints()
	found := make([][]kafkaadmin.Check, len(regions))
	var all sync.WaitGroup
	for i, region := range regions {
		all.Go(func() {
			r, err := l.Replica(ctx, region)
			if err != nil {
				f := cli.Explain(connect.LeaseFailure("", err))
				found[i] = []kafkaadmin.Check{{Name: "region " + region, Severity: kafkaadmin.Error, Detail: strings.TrimPrefix(err.Error(), region+": "), Remedy: f.Do}}
				return
			}
			found[i] = replicaChecks(&r, cfg.Leases.HomeRegion(), time.Now())
		})
	}
	all.Wait()
	for _, f := range found {
		checks = append(checks, f...)
	}
	return checks
}

// tableChecks hold the table, as the first region describes it, against what it must be.
func tableChecks(ctx context.Context, l *node.LeaseTable) (checks []kafkaadmin.Check) {
	steps, err := l.Plan(ctx)
	if err != nil {
		f := cli.Explain(connect.LeaseFailure("", err))
		return []kafkaadmin.Check{{Name: "table " + l.Config.Table, Severity: kafkaadmin.Error, Detail: err.Error(), Remedy: f.Do}}
	}
	for _, s := range steps {
		checks = append(checks, kafkaadmin.Check{Name: "table " + l.Config.Table, Severity: kafkaadmin.Error, Detail: "it lacks: " + s.String(), Remedy: "run `weir table apply`"})
	}
	if len(steps) == 0 {
		checks = append(checks, kafkaadmin.Check{Name: "table " + l.Config.Table, OK: true, Severity: kafkaadmin.Info, Detail: "keys, index, stream and replicas are as they must be"})
	}
	return checks
}

// replicaChecks judge what a region says. What is well is one line.
func replicaChecks(r *leaseadmin.Replica, home string, now time.Time) (checks []kafkaadmin.Check) {
	name := "region " + r.Region
	bad := func(wrong bool, s kafkaadmin.Severity, detail, do string) {
		if wrong {
			checks = append(checks, kafkaadmin.Check{Name: name, Severity: s, Detail: detail, Remedy: do})
		}
	}
	if r.Table == "" {
		bad(true, kafkaadmin.Error, "it has no copy of the table", "run `weir table apply`")
		return checks
	}
	bad(r.Table != "ACTIVE", kafkaadmin.Error, "its table is "+r.Table, "wait until it is ACTIVE; a replica of a large table takes hours")
	bad(!r.Stream, kafkaadmin.Error, "its stream is off, or has not both images: what happens there would not be heard of", "run `weir table apply`, or switch it on there, with new and old images")
	bad(r.Index != "ACTIVE", kafkaadmin.Error, fmt.Sprintf("its index of what is available is %q: nothing can be leased there", r.Index), "run `weir table apply`, and wait until it is ACTIVE")
	bad(r.Clock != nil, kafkaadmin.Error, fmt.Sprint(r.Clock), "set the clock of this machine (NTP), or raise leases.skew everywhere")
	bad(r.Writer == "", kafkaadmin.Error, "it is not in the table: nobody can lease there", "run `weir region create "+r.Region+"`; right after that, wait for replication")
	bad(r.Writer != "" && r.Writer != home, kafkaadmin.Error, fmt.Sprintf("its settings are kept in %s, and leases.home is %s", r.Writer, home),
		"`weir region home` says which region the table has for home: set leases.home to that")
	if r.Writer == home { // else there is nothing to bridge yet
		bad(r.Heartbeat.IsZero(), kafkaadmin.Warning, "no bridge ever ran for it", "`weir run --roles leases` runs them all; leases work without, and nothing is freed or moved")
		age := now.Sub(r.Heartbeat).Round(time.Second)
		bad(!r.Heartbeat.IsZero() && age > maxHeartbeatAge, kafkaadmin.Warning, fmt.Sprintf("its bridge gave the last sign of life %s ago", age),
			"see the log of the process that has the role bridge; DynamoDB keeps streams for 24 hours")
	}
	if len(checks) == 0 {
		detail := fmt.Sprintf("answers in %s, with stream and index; clocks agree; its bridge was there %s ago", r.Took.Round(10*time.Microsecond), now.Sub(r.Heartbeat).Round(100*time.Millisecond))
		checks = append(checks, kafkaadmin.Check{Name: name, OK: true, Severity: kafkaadmin.Info, Detail: detail})
	}
	return checks
}

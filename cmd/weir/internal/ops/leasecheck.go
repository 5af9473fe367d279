package ops

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
	leaseadmin "github.com/weirhq/weir/lease/admin"
	"github.com/weirhq/weir/processors/kafkaadmin"
)

// maxHeartbeatAge is the greatest age of a bridge's last heartbeat. A bridge writes one every two
// seconds.
const maxHeartbeatAge = 30 * time.Second

// leaseChecks checks the lease table and its copy in each region.
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
				found[i] = []kafkaadmin.Check{
					{
						Name: "region " + region, Severity: kafkaadmin.Error, Detail: strings.TrimPrefix(err.Error(), region+": "),
						Remedy: f.Do,
					},
				}
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

// tableChecks compares the table in the first region with the table that weir needs.
func tableChecks(ctx context.Context, l *node.LeaseTable) (checks []kafkaadmin.Check) {
	steps, err := l.Plan(ctx)
	if err != nil {
		f := cli.Explain(connect.LeaseFailure("", err))
		return []kafkaadmin.Check{{Name: "table " + l.Config.Table, Severity: kafkaadmin.Error, Detail: err.Error(), Remedy: f.Do}}
	}
	for _, s := range steps {
		checks = append(checks,
			kafkaadmin.Check{
				Name: "table " + l.Config.Table, Severity: kafkaadmin.Error, Detail: "missing: " + s.String(),
				Remedy: "run `weir table apply`",
			})
	}
	if len(steps) == 0 {
		checks = append(checks,
			kafkaadmin.Check{
				Name: "table " + l.Config.Table, OK: true, Severity: kafkaadmin.Info,
				Detail: "keys, index, stream and replicas are complete",
			})
	}
	return checks
}

// replicaChecks returns a check for each problem of a region, or one OK check.
func replicaChecks(r *leaseadmin.ReplicaStatus, home string, now time.Time) (checks []kafkaadmin.Check) {
	name := "region " + r.Region
	bad := func(wrong bool, s kafkaadmin.Severity, detail, do string) {
		if wrong {
			checks = append(checks, kafkaadmin.Check{Name: name, Severity: s, Detail: detail, Remedy: do})
		}
	}
	if r.Table == "" {
		bad(true, kafkaadmin.Error, "the region has no replica of the table", "run `weir table apply`")
		return checks
	}
	bad(r.Table != "ACTIVE", kafkaadmin.Error, "the state of the table is "+r.Table,
		"wait for ACTIVE; a new replica of a large table takes hours")
	bad(!r.Stream, kafkaadmin.Error, "the stream is off, or lacks old or new images: the lease loop does not see the changes of the region",
		"run `weir table apply`, or enable the stream there with new and old images")
	bad(r.Index != "ACTIVE", kafkaadmin.Error,
		fmt.Sprintf("the state of the index of available resources is %q: nothing can be leased there", r.Index),
		"run `weir table apply`, and wait for ACTIVE")
	bad(r.Clock != nil, kafkaadmin.Error, fmt.Sprint(r.Clock), "set the clock of this machine (NTP), or raise leases.skew in all processes")
	bad(r.Writer == "", kafkaadmin.Error, "the table has no row of the region: nothing can be leased there",
		"run `weir region create "+r.Region+"`; if you just did, wait for replication")
	bad(r.Writer != "" && r.Writer != home, kafkaadmin.Error,
		fmt.Sprintf("the home region of the settings is %s, and leases.home is %s", r.Writer, home),
		"set leases.home to the region that `weir region home` shows")
	if r.Writer == home { // otherwise there is nothing to bridge yet
		bad(r.Heartbeat.IsZero(), kafkaadmin.Warning, "no bridge has run for the region",
			"run `weir run --roles leases`; without it leases work, but ended leases are not released and nothing is transferred")
		age := now.Sub(r.Heartbeat).Round(time.Second)
		bad(!r.Heartbeat.IsZero() && age > maxHeartbeatAge, kafkaadmin.Warning,
			fmt.Sprintf("the last heartbeat of its bridge was %s ago", age),
			"see the log of the process with the role bridge; DynamoDB keeps streams for 24 hours")
	}
	if len(checks) == 0 {
		detail := fmt.Sprintf(
			"answers in %s; table, stream and index are active; the clock agrees; the last heartbeat of its bridge was %s ago",
			r.Took.Round(10*time.Microsecond), now.Sub(r.Heartbeat).Round(100*time.Millisecond))
		checks = append(checks, kafkaadmin.Check{Name: name, OK: true, Severity: kafkaadmin.Info, Detail: detail})
	}
	return checks
}

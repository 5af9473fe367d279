package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	leaseadmin "github.com/weirhq/weir/agent/admin"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/admin"
)

// silent is from which age on the last sign of life of a bridge is an old one: it gives one every two seconds.
const silent = 30 * time.Second

// leaseChecks look at the table of leases in each region, beside its topics.
func leaseChecks(ctx context.Context, cfg *config.Config) []admin.Check {
	l, err := connectLeases(ctx, cfg.Leases)
	if err != nil {
		f := explain(err)
		return []admin.Check{{Name: "dynamodb", Severity: admin.Error, Detail: f.Error(), Do: f.do}}
	}
	checks := tableChecks(ctx, l)
	regions, _ := cfg.Leases.Places()
	found := make([][]admin.Check, len(regions))
	var all sync.WaitGroup
	for i, region := range regions {
		all.Go(func() {
			r, err := l.Replica(ctx, region)
			if err != nil {
				f := explain(leaseFailure("", err))
				found[i] = []admin.Check{{Name: "region " + region, Severity: admin.Error, Detail: strings.TrimPrefix(err.Error(), region+": "), Do: f.do}}
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
func tableChecks(ctx context.Context, l *leases) (checks []admin.Check) {
	steps, err := l.Plan(ctx)
	if err != nil {
		f := explain(leaseFailure("", err))
		return []admin.Check{{Name: "table " + l.cfg.Table, Severity: admin.Error, Detail: err.Error(), Do: f.do}}
	}
	for _, s := range steps {
		checks = append(checks, admin.Check{Name: "table " + l.cfg.Table, Severity: admin.Error, Detail: "it lacks: " + s.String(), Do: "run `weir table apply`"})
	}
	if len(steps) == 0 {
		checks = append(checks, admin.Check{Name: "table " + l.cfg.Table, OK: true, Severity: admin.Info, Detail: "keys, index, stream and replicas are as they must be"})
	}
	return checks
}

// replicaChecks judge what a region says. What is well is one line.
func replicaChecks(r *leaseadmin.Replica, home string, now time.Time) (checks []admin.Check) {
	name := "region " + r.Region
	bad := func(wrong bool, s admin.Severity, detail, do string) {
		if wrong {
			checks = append(checks, admin.Check{Name: name, Severity: s, Detail: detail, Do: do})
		}
	}
	if r.Table == "" {
		bad(true, admin.Error, "it has no copy of the table", "run `weir table apply`")
		return checks
	}
	bad(r.Table != "ACTIVE", admin.Error, "its table is "+r.Table, "wait until it is ACTIVE; a replica of a large table takes hours")
	bad(!r.Stream, admin.Error, "its stream is off, or has not both images: what happens there would not be heard of", "run `weir table apply`, or switch it on there, with new and old images")
	bad(r.Index != "ACTIVE", admin.Error, fmt.Sprintf("its index of what is available is %q: nothing can be leased there", r.Index), "run `weir table apply`, and wait until it is ACTIVE")
	bad(r.Clock != nil, admin.Error, fmt.Sprint(r.Clock), "set the clock of this machine (NTP), or raise leases.skew everywhere")
	bad(r.Writer == "", admin.Error, "it is not in the table: nobody can lease there", "run `weir region create "+r.Region+"`; right after that, wait for replication")
	bad(r.Writer != "" && r.Writer != home, admin.Error, fmt.Sprintf("its settings are kept in %s, and leases.home is %s", r.Writer, home),
		"`weir region home` says which region the table has for home: set leases.home to that")
	if r.Writer == home { // else there is nothing to bridge yet
		bad(r.Beat.IsZero(), admin.Warning, "no bridge ever ran for it", "`weir run --roles leases` runs them all; leases work without, and nothing is freed or moved")
		age := now.Sub(r.Beat).Round(time.Second)
		bad(!r.Beat.IsZero() && age > silent, admin.Warning, fmt.Sprintf("its bridge gave the last sign of life %s ago", age),
			"see the log of the process that has the role bridge; DynamoDB keeps streams for 24 hours")
	}
	if len(checks) == 0 {
		detail := fmt.Sprintf("answers in %s, with stream and index; clocks agree; its bridge was there %s ago", r.Took.Round(10*time.Microsecond), now.Sub(r.Beat).Round(100*time.Millisecond))
		checks = append(checks, admin.Check{Name: name, OK: true, Severity: admin.Info, Detail: detail})
	}
	return checks
}

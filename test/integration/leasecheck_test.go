package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/admin"
	"github.com/weirhq/weir/lease/status"
	"github.com/weirhq/weir/lease/table"
)

// quiet waits, after the last user, until all leases have ended and are liberated and the log
// equals the table. Then it checks the result.
func (w *leaseCluster) quiet() *leaseOutcomes {
	w.t.Helper()
	took := testlimit.Within(w.t, "all resources are available again", func(ctx context.Context) error { return w.available(ctx) })
	w.t.Logf("all resources are available %s after the last user", took.Round(time.Millisecond))
	testlimit.Within(w.t, "no command waits for an executor", w.idle)
	var log *leaseLog
	testlimit.Within(w.t, "the log equals the tables of all regions", func(ctx context.Context) (err error) {
		if log, err = readLeaseLog(ctx, w.kafka); err != nil {
			return err
		}
		return w.agree(ctx, log)
	})
	if wrong := slices.Concat(log.wrong, log.gaps()); len(wrong) > 0 {
		w.t.Errorf("lease.changes has %d errors:\n%s", len(wrong), strings.Join(wrong[:min(20, len(wrong))], "\n"))
	}
	var o *leaseOutcomes
	testlimit.Within(w.t, "each command has a result", func(ctx context.Context) (err error) { // the balancer may send one at any time
		if o, err = readOutcomes(ctx, w.kafka, w.regions); err != nil {
			return err
		}
		for id, c := range o.commands {
			if o.answers[id] == nil {
				return fmt.Errorf("no result for command %v", c)
			}
		}
		return nil
	})
	w.checkTopics(o)
	w.t.Logf("lease.changes: %d rows, %d changes, %d scanned; %d commands: liberate %d, transfer %d, supersede %d, headroom %d done",
		len(log.rows), log.changes, log.scanned, len(o.commands), o.count("liberate"), o.count("transfer"), o.count("supersede"), o.count("headroom"))
	return o
}

// available returns an error unless each resource exists once, in one region, and is not leased.
func (w *leaseCluster) available(ctx context.Context) error {
	found := map[string]bool{}
	err := w.admin.Resources(ctx, leaseClient, admin.ResourceFilter{}, func(r admin.Resource) error {
		switch {
		case w.stock[r.Resource] != r.Pool || found[r.Resource]:
			return fmt.Errorf("%s of pool %s is unknown or exists twice", &r, r.Pool)
		case r.State != admin.Available:
			return fmt.Errorf("%s is %s until %s, key %s, in %s", &r, r.State, r.Until.Format(time.StampMilli), r.Key, r.Region)
		}
		found[r.Resource] = true
		return nil
	})
	if err == nil && len(found) != len(w.stock) {
		err = fmt.Errorf("%d resources of %d exist", len(found), len(w.stock))
	}
	return err
}

// idle returns an error while commands wait.
func (w *leaseCluster) idle(ctx context.Context) error {
	_, err := w.waiting(ctx, 0)
	return err
}

// waiting returns the waiting commands of each region, and an error while a region has more than
// most.
func (w *leaseCluster) waiting(ctx context.Context, most int64) (map[string]status.Waiting, error) {
	v, err := status.Read(ctx, w.kafka, status.Query{Regions: w.regions})
	if err != nil {
		return nil, err
	}
	all := map[string]status.Waiting{}
	for _, x := range v.Waiting {
		if all[x.Region] = x; x.Commands > most {
			err = fmt.Errorf("%d commands wait for %s", x.Commands, x.Region)
		}
	}
	return all, err
}

// agree returns an error unless every region has the same leases as the log: each row as its last
// change, and no other row.
func (w *leaseCluster) agree(ctx context.Context, log *leaseLog) error {
	rows := map[lease.PrimaryKey]*rowLog{}
	for name, r := range log.rows {
		if r.leases() {
			rows[name.PrimaryKey] = r
		}
	}
	for name := range w.stock {
		if rows[lease.ResourceRow(leaseClient, name)] == nil {
			return fmt.Errorf("the log has no resource %s", name)
		}
	}
	for _, region := range w.regions {
		items, err := w.leases(ctx, region)
		if err != nil {
			return err
		}
		for p := range items {
			if rows[p] == nil {
				return fmt.Errorf("the log has no row %v, which %s has", p, region)
			}
		}
		for p, r := range rows {
			if err := same(items[p], r.newest); err != nil {
				return fmt.Errorf("row %v in %s: %w", p, region, err)
			}
		}
	}
	return nil
}

// leases returns the rows of all resources and keys in a region.
func (w *leaseCluster) leases(ctx context.Context, region string) (map[lease.PrimaryKey]table.Item, error) {
	items := map[lease.PrimaryKey]table.Item{}
	pages := dynamodb.NewScanPaginator(w.table.New(region), &dynamodb.ScanInput{TableName: aws.String(leaseTable), ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("scan %s: %w", region, err)
		}
		for _, item := range page.Items {
			p := lease.PrimaryKey{Partition: table.Text(item, table.PK), Sort: table.Text(item, table.SK)}
			_, resource := lease.ParseResourcePartition(p.Partition)
			if _, _, _, key := lease.ParseKeyPartition(p.Partition); key || resource {
				items[p] = item
			}
		}
	}
	return items, nil
}

// same returns an error unless a row equals a change.
func same(item table.Item, c *eventspb.LeaseChange) error {
	row, err := table.Row(item)
	if err != nil {
		return err
	}
	want := lease.Row{}
	if r := c.GetResource(); r != nil {
		want = lease.Row{Version: r.Version, Owner: r.Owner, Holder: r.Holder, Expires: r.ExpiresMs, Available: r.AvailableMs}
	} else if k := c.GetKey(); k != nil {
		want = lease.Row{
			Version: k.Version, State: lease.State(k.State), Resource: k.Resource, ResourceVersion: k.ResourceVersion, Expires: k.ExpiresMs, Winner: k.Winner, Granted: k.GrantedMs,
		}
	}
	if row != want {
		return fmt.Errorf("it is %+v; the log has %+v", row, want)
	}
	return nil
}

// checkTopics checks that each command has a result and that nothing was rejected.
func (w *leaseCluster) checkTopics(o *leaseOutcomes) {
	w.t.Helper()
	for id, c := range o.commands {
		if o.answers[id] == nil {
			w.t.Errorf("no result for command %v", c)
		}
	}
	topics := []string{events.LeaseRejectedTopic}
	for _, app := range leaseApps() {
		topics = append(topics, app+".dlq")
	}
	for _, topic := range topics {
		if n, err := size(w.t.Context(), w.kafka, topic); err != nil || n > 0 {
			w.t.Errorf("%s has %d records, want none: %v", topic, n, err)
		}
	}
}

// single returns an error if a key is leased in two regions, by the rows of these regions.
func (w *leaseCluster) single(ctx context.Context, keys []twin) (live int, err error) {
	now := time.Now().UnixMilli()
	for _, key := range keys {
		n := 0
		for _, region := range w.regions {
			rows, err := w.table.Keys(ctx, region, lease.KeyPartition(leaseClient, key.pool, key.key))
			if err != nil {
				return 0, err
			}
			own := rows[region]
			if own.Live(now, leaseSkew.Milliseconds()) {
				n++
			}
		}
		if n > 1 {
			return 0, fmt.Errorf("key %s has live leases in %d regions", key.key, n)
		}
		live += n
	}
	return live, nil
}

// settled returns the time at which the last command of a region that was decided before a moment
// was carried out after it, and the number of these commands.
func (o *leaseOutcomes) settled(region string, before time.Time) (last time.Time, n int) {
	for id, c := range o.commands {
		if r := o.answers[id]; c.Region == region && c.DecidedMs < before.UnixMilli() && r != nil && r.DoneMs > before.UnixMilli() {
			n++
			if at := time.UnixMilli(r.DoneMs); at.After(last) {
				last = at
			}
		}
	}
	return last, n
}

// stopAll stops processes with SIGTERM.
func stopAll(procs ...*process) error {
	var errs []error
	for _, p := range procs {
		p.signal(term)
	}
	for _, p := range procs {
		if code := p.exit(); code != 0 {
			errs = append(errs, fmt.Errorf("%s: exit code %d\n%s", p.name, code, p.output()))
		}
	}
	return errors.Join(errs...)
}

// slowest returns the maximum and the median of some times as text.
func slowest(all []time.Duration) string {
	if len(all) == 0 {
		return "none"
	}
	slices.Sort(all)
	return fmt.Sprintf("median %s, max %s of %d", all[len(all)/2].Round(time.Millisecond), all[len(all)-1].Round(time.Millisecond), len(all))
}

package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/agent/admin"
	"github.com/weirhq/weir/api/leasestatus"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// quiet waits, after the last user, until all leases are over and given back and the log has what the table has; then it
// judges what came of it.
func (w *leaseCluster) quiet(limit time.Duration) *leaseOutcomes {
	w.t.Helper()
	took := within(w.t, limit, "all resources are available again", func(ctx context.Context) error { return w.available(ctx) })
	w.t.Logf("all resources are available %s after the last user", took.Round(time.Millisecond))
	within(w.t, 20*time.Second, "the executors have nothing left", w.idle)
	var log *leaseLog
	within(w.t, 20*time.Second, "the log and all regions say the same", func(ctx context.Context) (err error) {
		if log, err = readLeaseLog(ctx, w.kafka); err != nil {
			return err
		}
		return w.agree(ctx, log)
	})
	if wrong := slices.Concat(log.wrong, log.gaps()); len(wrong) > 0 {
		w.t.Errorf("lease.changes is wrong %d times:\n%s", len(wrong), strings.Join(wrong[:min(20, len(wrong))], "\n"))
	}
	o, err := readOutcomes(w.t.Context(), w.kafka, w.regions)
	if err != nil {
		w.t.Fatal(err)
	}
	w.judgeTopics(o)
	w.t.Logf("lease.changes: %d rows, %d changes, %d scanned; %d commands: liberate %d, transfer %d, supersede %d, headroom %d done",
		len(log.rows), log.changes, log.scanned, len(o.commands), o.count("liberate"), o.count("transfer"), o.count("supersede"), o.count("headroom"))
	return o
}

// available complains unless each resource is known once, in one region, and leased by nobody.
func (w *leaseCluster) available(ctx context.Context) error {
	found := map[string]bool{}
	err := w.admin.Resources(ctx, leaseClient, admin.Filter{}, func(r admin.Resource) error {
		switch {
		case w.stock[r.Resource] != r.Pool || found[r.Resource]:
			return fmt.Errorf("%s of pool %s is not of the stock, or there twice", &r, r.Pool)
		case r.State != admin.Available:
			return fmt.Errorf("%s is %s until %s, key %s, in %s", &r, r.State, r.Until.Format(time.StampMilli), r.Key, r.Region)
		}
		found[r.Resource] = true
		return nil
	})
	if err == nil && len(found) != len(w.stock) {
		err = fmt.Errorf("%d resources are known of %d", len(found), len(w.stock))
	}
	return err
}

// idle complains while commands wait.
func (w *leaseCluster) idle(ctx context.Context) error {
	_, err := w.waiting(ctx, 0)
	return err
}

// waiting complains while more than so many commands wait for a region. It gives how they are.
func (w *leaseCluster) waiting(ctx context.Context, most int64) (map[string]leasestatus.Waiting, error) {
	v, err := leasestatus.Read(ctx, w.kafka, leasestatus.Query{Regions: w.regions})
	if err != nil {
		return nil, err
	}
	all := map[string]leasestatus.Waiting{}
	for _, x := range v.Waiting {
		if all[x.Region] = x; x.Commands > most {
			err = fmt.Errorf("%d commands wait for %s", x.Commands, x.Region)
		}
	}
	return all, err
}

// agree complains unless every region has each row as the log has it last.
func (w *leaseCluster) agree(ctx context.Context, log *leaseLog) error {
	rows := map[lease.PrimaryKey]*rowLog{}
	for name, r := range log.rows {
		if r.leases() {
			rows[name.PrimaryKey] = r
		}
	}
	for name := range w.stock {
		if rows[lease.ResourceRow(leaseClient, name)] == nil {
			return fmt.Errorf("the log does not know resource %s", name)
		}
	}
	for _, region := range w.regions {
		for some := range slices.Chunk(slices.Collect(maps.Keys(rows)), 100) {
			items, err := w.table.GetAll(ctx, region, some)
			if err != nil {
				return err
			}
			for _, p := range some {
				if err := same(items[p], rows[p].newest); err != nil {
					return fmt.Errorf("row %v in %s: %w", p, region, err)
				}
			}
		}
	}
	return nil
}

// same complains unless a row is as a change says.
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
		return fmt.Errorf("it is %+v, by the log %+v", row, want)
	}
	return nil
}

// judgeTopics looks for what must not be left behind.
func (w *leaseCluster) judgeTopics(o *leaseOutcomes) {
	w.t.Helper()
	for id, c := range o.commands {
		if o.answers[id] == nil {
			w.t.Errorf("no result says what became of %v", c)
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

// single complains if a key is leased in two regions, by the rows of those.
func (w *leaseCluster) single(ctx context.Context, keys []twin) (live int, err error) {
	now := time.Now().UnixMilli()
	for _, key := range keys {
		n := 0
		for _, region := range w.regions {
			rows, err := w.table.Keys(ctx, region, lease.KeyRows(leaseClient, key.pool, key.key))
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

// settled is the time from which all commands of a region that were decided before a moment had been carried out.
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

// stopAll ends processes in order.
func stopAll(lives ...*process) error {
	var errs []error
	for _, p := range lives {
		p.signal(term)
	}
	for _, p := range lives {
		if code := p.exit(20 * time.Second); code != 0 {
			errs = append(errs, fmt.Errorf("%s: exit code %d\n%s", p.name, code, p.said()))
		}
	}
	return errors.Join(errs...)
}

// slowest is the greatest and the middle of some times.
func slowest(all []time.Duration) string {
	if len(all) == 0 {
		return "none"
	}
	slices.Sort(all)
	return fmt.Sprintf("median %s, max %s of %d", all[len(all)/2].Round(time.Millisecond), all[len(all)-1].Round(time.Millisecond), len(all))
}

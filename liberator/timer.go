package liberator

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/stream"
)

// OnTimer takes the next step for the leases whose timers are due.
func (l *Liberator) OnTimer(nowMs int64, due []stream.Timer) error {
	keys := make([]string, len(due))
	for i := range due {
		keys[i] = string(due[i].Key)
	}
	if err := l.resources.Prefetch(keys); err != nil {
		return l.fail(err)
	}
	for i := range due {
		key := string(due[i].Key)
		row, ok, err := l.resources.Get(key)
		if err != nil {
			return l.fail(err)
		}
		if !ok || row.Timer != due[i].AtMs {
			continue // a timer of an earlier row
		}
		// A slot that passed while no task ran is lost: many missed slots would be a burst.
		row.HasSlot = row.HasSlot && nowMs-row.Timer <= maxLateMs
		row.Timer = 0
		if err := l.step(key, &row, nowMs); err != nil {
			return l.fail(err)
		}
		l.resources.Put(key, row)
	}
	return nil
}

// step takes the next step for a lease and sets its timer.
func (l *Liberator) step(key string, row *Resource, nowMs int64) error {
	if over := l.overAt(row.Expires); nowMs < over { // it was renewed after the timer was set
		l.setTimer(key, row, over)
		return nil
	}
	poolKey := key[:strings.LastIndexByte(key, 0)]
	p, known, err := l.pools.Get(poolKey)
	if err != nil {
		return err
	}
	output, declared := l.cfg.Output(row.Owner)
	if !known || !declared {
		l.stats.SettingsWaits++
		l.setTimer(key, row, nowMs+settingsRetry.Milliseconds())
		return nil
	}
	if !row.HasSlot {
		slot, err := l.nextSlot(poolKey+"\x00"+row.Owner, &p, nowMs)
		if err != nil {
			return err
		}
		if slot > nowMs {
			l.stats.Deferred++
			row.HasSlot = true
			l.setTimer(key, row, slot)
			return nil
		}
	}
	value, err := l.command(key, row, &p, nowMs)
	if err != nil {
		return err
	}
	l.out = append(l.out, command{output, poolKey, value})
	row.HasSlot = false
	l.setTimer(key, row, nowMs+l.cfg.backoff(row.Tries))
	row.Tries++
	return nil
}

const (
	burstMs = 1000 // share of its budget that a pool can use at once, in time
	// maxLateMs is how late a slot may be used. Timers fire at the end of a transaction, which
	// takes a second or more under load.
	maxLateMs = 5000
)

// nextSlot takes the next slot of a budget and returns its time, Unix ms. The row has the time of
// the following slot in microseconds.
func (l *Liberator) nextSlot(key string, p *pool, nowMs int64) (int64, error) {
	next, _, err := l.budgets.Get(key)
	if err != nil {
		return 0, err
	}
	next = max(next, (nowMs-burstMs)*1000)
	l.budgets.Put(key, next+max(1, 1_000_000/(int64(l.cfg.BucketRate)*int64(p.buckets))))
	return (next + 999) / 1000, nil
}

// command returns the command that ends a lease.
func (l *Liberator) command(key string, row *Resource, p *pool, nowMs int64) ([]byte, error) {
	names := strings.SplitN(key, "\x00", 3)
	client, pool, resource := names[0], names[1], names[2]
	why := "its lease ended at " + time.UnixMilli(row.Expires).UTC().Format(time.RFC3339Nano)
	if row.Tries == 0 {
		l.stats.Commands++
		l.stats.Delays = append(l.stats.Delays, time.Duration(nowMs-row.Expires)*time.Millisecond)
	} else {
		l.stats.Repeated++
		why += fmt.Sprintf("; attempt %d, the row has not changed", row.Tries+1)
	}
	c := &eventspb.LeaseCommand{
		Id:     lease.JoinNames("liberate", client, pool, resource, strconv.FormatInt(row.Version, 10), strconv.FormatInt(row.Tries+1, 10)),
		Client: client, Pool: pool, Region: row.Owner, By: "liberator", Why: why, DecidedMs: nowMs,
		NotAfterMs: nowMs + l.cfg.backoff(row.Tries), // then the next attempt replaces it: a region that was down has one to carry out
		Command: &eventspb.LeaseCommand_Liberate{Liberate: &eventspb.LeaseLiberate{
			Resource: resource, Version: row.Version, ExpiresMs: row.Expires, AvailableMs: row.Expires + p.quarantine, Buckets: p.buckets,
		}},
	}
	value, err := proto.MarshalOptions{Deterministic: true}.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("command %s: %w", c.Id, err)
	}
	return value, nil
}

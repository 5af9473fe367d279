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

// OnTimer ends the leases whose timers are due.
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
			continue // it is not the row's: nothing depends on it
		}
		// A slot that nobody was there to use is lost: many together would be a burst.
		row.Slot = row.Slot && nowMs-row.Timer <= maxLateMs
		row.Timer = 0
		if err := l.fire(key, &row, nowMs); err != nil {
			return l.fail(err)
		}
		l.resources.Put(key, row)
	}
	return nil
}

// fire takes the next step for a lease, and sets its timer anew.
func (l *Liberator) fire(key string, row *Resource, nowMs int64) error {
	if over := l.overAt(row.Expires); nowMs < over { // it was renewed since the timer was set
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
		l.stats.Waited++
		l.setTimer(key, row, nowMs+settingsRetry.Milliseconds())
		return nil
	}
	if !row.Slot {
		slot, err := l.nextSlot(poolKey+"\x00"+row.Owner, &p, nowMs)
		if err != nil {
			return err
		}
		if slot > nowMs {
			l.stats.Deferred++
			row.Slot = true
			l.setTimer(key, row, slot)
			return nil
		}
	}
	value, err := l.command(key, row, &p, nowMs)
	if err != nil {
		return err
	}
	l.out = append(l.out, command{output, poolKey, value})
	row.Slot = false
	l.setTimer(key, row, nowMs+l.cfg.backoff(row.Tries))
	row.Tries++
	return nil
}

const (
	burstMs = 1000 // how much of its budget a pool can use at once
	// maxLateMs is how late a slot may be: timers fire at the end of transactions, which are a second long and more when there is much
	// to do.
	maxLateMs = 5000
)

// nextSlot takes the next one of a budget: when it is, in Unix ms. The row has it in microseconds.
func (l *Liberator) nextSlot(key string, p *pool, nowMs int64) (int64, error) {
	next, _, err := l.budgets.Get(key)
	if err != nil {
		return 0, err
	}
	next = max(next, (nowMs-burstMs)*1000)
	l.budgets.Put(key, next+max(1, 1_000_000/(int64(l.cfg.BucketRate)*int64(p.buckets))))
	return (next + 999) / 1000, nil
}

// command is the one to end a lease.
func (l *Liberator) command(key string, row *Resource, p *pool, nowMs int64) ([]byte, error) {
	names := strings.SplitN(key, "\x00", 3)
	client, pool, resource := names[0], names[1], names[2]
	why := "its lease ended at " + time.UnixMilli(row.Expires).UTC().Format(time.RFC3339Nano)
	if row.Tries == 0 {
		l.stats.Commands++
		l.stats.delayed(nowMs - row.Expires)
	} else {
		l.stats.Repeated++
		why += fmt.Sprintf("; said %d times before, and nothing came of it", row.Tries)
	}
	c := &eventspb.LeaseCommand{
		Id:     lease.JoinNames("liberate", client, pool, resource, strconv.FormatInt(row.Version, 10), strconv.FormatInt(row.Tries+1, 10)),
		Client: client, Pool: pool, Region: row.Owner, By: "liberator", Why: why, DecidedMs: nowMs,
		NotAfterMs: nowMs + l.cfg.backoff(row.Tries), // the next one takes its place: a region that was down has one to do, not all
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

package liberator

import (
	"fmt"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease/changes"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

// Liberator ends the leases of one task. It is not safe for concurrent use. After an error it must
// be discarded: New builds another from the committed state.
type Liberator struct {
	cfg       Config
	changes   changes.Decoder
	partition int32
	timers    stream.Timers
	resources *state.Cache[string, Resource]
	pools     *state.Cache[string, pool]
	budgets   *state.Cache[string, int64]
	counts    *state.Cache[string, int64]
	out       []command
	stats     Stats
	counted   int64 // stats.Leases as in the table
}

// command is a command for the next Flush.
type command struct {
	output string
	key    string
	value  []byte
}

const leasesKey = "leases"

// New returns a Liberator with the committed state of t.
func New(cfg Config, t stream.Task) (*Liberator, error) {
	err := cfg.setDefaults()
	if err != nil {
		return nil, err
	}
	l := &Liberator{
		cfg: cfg, partition: t.Partition, timers: t.Timers,
		resources: state.NewCache(resourceTable(), t.Get),
		pools:     state.NewCache(poolTable(), t.Get),
		budgets:   state.NewCache(budgetTable(), t.Get),
		counts:    state.NewCache(countTable(), t.Get),
	}
	l.changes = changes.Decoder{Rules: l.cfg.rules(), RowKey: rowKey, Prefetch: l.resources.Prefetch, Fold: l.fold}
	if l.stats.Leases, _, err = l.counts.Get(leasesKey); err != nil {
		return nil, l.fail(err)
	}
	l.counted = l.stats.Leases
	return l, nil
}

func (l *Liberator) fail(err error) error {
	return fmt.Errorf("liberator, partition %d: %w", l.partition, err)
}

// Fold applies the changes of b. Invalid records go to b.Reject. An error means that the state
// could not be read.
func (l *Liberator) Fold(b *stream.Batch) error {
	if err := l.changes.Each(b); err != nil {
		return l.fail(err)
	}
	return nil
}

// rowKey returns the key of the resource's row that a change is about; empty if it is about another
// kind of row.
func rowKey(c *changes.Change) string {
	if r := c.GetResource(); r != nil {
		return changes.RowKey(c, r.Resource)
	}
	return ""
}

func (l *Liberator) fold(c *changes.Change) error {
	switch row := c.Row.(type) {
	case *eventspb.LeaseChange_Resource:
		return l.foldResource(c, row.Resource)
	case *eventspb.LeaseChange_Settings:
		return l.foldSettings(c, row.Settings)
	}
	return nil
}

// foldSettings keeps the settings of a pool. Those of a deleted pool stay: its leases end by them.
func (l *Liberator) foldSettings(c *changes.Change, s *eventspb.LeasePool) error {
	if c.Gone {
		return nil
	}
	key := changes.PoolKey(c)
	known, ok, err := l.pools.Get(key)
	if err != nil || ok && s.Version <= known.version {
		return err
	}
	l.pools.Put(key, pool{s.Version, s.QuarantineMs, s.Buckets})
	return nil
}

func (l *Liberator) foldResource(c *changes.Change, r *eventspb.LeaseResource) error {
	key := c.RowKey
	old, known, err := l.resources.Get(key)
	if err != nil {
		return err
	}
	// The change that reports a deletion may have the version of the deleted row.
	if known && (r.Version < old.Version || r.Version == old.Version && !(c.Gone && old.Expires > 0)) {
		l.stats.Stale++
		return nil
	}
	l.stats.Changes++
	row := Resource{Version: r.Version, Timer: old.Timer}
	if r.Holder != "" && !c.Gone {
		row.Expires, row.Owner = r.ExpiresMs, r.Owner
		l.setTimer(key, &row, l.overAt(row.Expires))
	} else if row.Timer != 0 {
		l.timers.Cancel(timer(row.Timer, key))
		row.Timer = 0
	}
	l.count(old.Expires > 0, row.Expires > 0)
	l.resources.Put(key, row)
	return nil
}

// overAt returns the time at which a lease is over by every clock, Unix ms; see the package
// comment.
func (l *Liberator) overAt(expires int64) int64 { return expires + 2*l.cfg.Skew.Milliseconds() + 1 }

// setTimer sets the timer of a row to atMs, unless an earlier one is set.
func (l *Liberator) setTimer(key string, row *Resource, atMs int64) {
	if row.Timer != 0 {
		if row.Timer <= atMs {
			return
		}
		l.timers.Cancel(timer(row.Timer, key))
	}
	row.Timer = atMs
	l.timers.Set(timer(atMs, key))
}

func timer(atMs int64, key string) stream.Timer {
	return stream.Timer{Clock: stream.WallTime, AtMs: atMs, Key: []byte(key)}
}

func (l *Liberator) count(before, after bool) {
	switch {
	case before && !after:
		l.stats.Leases--
	case !before && after:
		l.stats.Leases++
	}
}

// Flush returns the changes of the state and the commands.
func (l *Liberator) Flush(_ stream.Commit, ch *stream.Changes) error {
	if l.stats.Leases != l.counted {
		l.counts.Put(leasesKey, l.stats.Leases)
		l.counted = l.stats.Leases
	}
	l.resources.Flush(ch)
	l.pools.Flush(ch)
	l.budgets.Flush(ch)
	l.counts.Flush(ch)
	for i := range l.out {
		ch.EmitTo(l.out[i].output, l.partition, stream.Message{Key: []byte(l.out[i].key), Value: l.out[i].value})
	}
	clear(l.out)
	l.out, l.stats.Delays = l.out[:0], l.stats.Delays[:0]
	return nil
}

// PendingBytes estimates the size of the next Flush.
func (l *Liberator) PendingBytes() int { return 128*l.resources.Len() + 256*len(l.out) }

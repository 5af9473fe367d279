package liberator

import (
	"fmt"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease/changes"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

// Liberator watches the leases of one task. It is not safe for concurrent use. After an error it is of no more use: the
// state that was committed is the truth, and New begins from it.
type Liberator struct {
	cfg       Config
	partition int32
	timers    stream.Timers
	resources *state.Cache[string, Resource]
	pools     *state.Cache[string, pool]
	budgets   *state.Cache[string, int64]
	counts    *state.Cache[string, int64]
	out       []command
	stats     Stats
	counted   int64 // of stats.Leases, what is in the table
}

// command is one to be written at the next Flush.
type command struct {
	output string
	key    string
	value  []byte
}

const leasesKey = "leases"

// New returns a liberator that stands where t's committed state does.
func New(cfg Config, t stream.Task) (*Liberator, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	l := &Liberator{
		cfg: cfg, partition: t.Partition, timers: t.Timers,
		resources: state.NewCache(state.NewTable(TableResources, state.String{}, resources()), t.Get),
		pools:     state.NewCache(state.NewTable(TablePools, state.String{}, pools()), t.Get),
		budgets:   state.NewCache(state.NewTable(TableBudgets, state.String{}, state.Varint{}), t.Get),
		counts:    state.NewCache(state.NewTable(TableCounts, state.String{}, state.Varint{}), t.Get),
	}
	if l.stats.Leases, _, err = l.counts.Get(leasesKey); err != nil {
		return nil, l.fail(err)
	}
	l.counted = l.stats.Leases
	return l, nil
}

func (l *Liberator) fail(err error) error {
	return fmt.Errorf("liberator, partition %d: %w", l.partition, err)
}

// Fold takes the changes of b. Those that it refuses go to b.Reject; an error means that state could not be read.
func (l *Liberator) Fold(b *stream.Batch) error {
	fold := changes.Fold{Row: rowOf, Prefetch: l.resources.Prefetch, Change: l.fold}
	if err := fold.Each(b); err != nil {
		return l.fail(err)
	}
	return nil
}

// rowOf is where the row of a resource is that a change is about.
func rowOf(c *eventspb.LeaseChange) string {
	if r := c.GetResource(); r != nil {
		return changes.RowKey(c, r.Resource)
	}
	return ""
}

func (l *Liberator) fold(c *eventspb.LeaseChange) (*changes.Refusal, error) {
	switch row := c.Row.(type) {
	case nil:
		return changes.Refuse(changes.ReasonNoRow, "the change has no row of a kind that is known here"), nil
	case *eventspb.LeaseChange_Resource:
		bad := changes.CheckNames(c)
		if bad == nil {
			bad = l.checkResource(row.Resource)
		}
		if bad != nil {
			return bad, nil
		}
		return nil, l.foldResource(c, row.Resource)
	case *eventspb.LeaseChange_Settings:
		bad := changes.CheckNames(c)
		if bad == nil && !c.Gone {
			bad = changes.CheckSettings(row.Settings)
		}
		if bad != nil || c.Gone { // leases of a pool that was removed end by its last settings
			return bad, nil
		}
		return nil, l.foldSettings(c, row.Settings)
	}
	return nil, nil // of no interest here
}

func (l *Liberator) foldSettings(c *eventspb.LeaseChange, s *eventspb.LeasePool) error {
	key := c.Client + "\x00" + c.Pool
	known, ok, err := l.pools.Get(key)
	if err != nil || ok && s.Version <= known.version {
		return err
	}
	l.pools.Put(key, pool{s.Version, s.QuarantineMs, s.Buckets})
	return nil
}

func (l *Liberator) foldResource(c *eventspb.LeaseChange, r *eventspb.LeaseResource) error {
	key := changes.RowKey(c, r.Resource)
	old, known, err := l.resources.Get(key)
	if err != nil {
		return err
	}
	// A row that is gone may be told of with the version that it had.
	if known && (r.Version < old.Version || r.Version == old.Version && !(c.Gone && old.Expires > 0)) {
		l.stats.Old++
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

// overAt is when a lease is over by a clock that is behind by the skew: see the package's comment.
func (l *Liberator) overAt(expires int64) int64 { return expires + 2*l.cfg.Skew.Milliseconds() + 1 }

// setTimer makes the timer of a row fire at atMs, or before if one is set that may stay.
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

// Flush hands over rows and commands.
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
	l.out = l.out[:0]
	return nil
}

// PendingBytes is about how many bytes the next Flush hands over.
func (l *Liberator) PendingBytes() int { return 128*l.resources.Len() + 256*len(l.out) }

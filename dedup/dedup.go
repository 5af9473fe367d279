package dedup

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/changes"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

// Dedup selects the leases of one task. It is not safe for concurrent use. After an error it must
// be discarded: New builds another from the committed state.
type Dedup struct {
	cfg       Config
	changes   changes.Decoder
	partition int32
	timers    stream.Timers
	keys      *state.Cache[string, Key]
	pools     *state.Cache[string, pool]
	counts    *state.Cache[string, int64]
	out       []output
	stats     Stats
	counted   [2]int64 // stats.Keys and stats.OpenDuplicates as in the table
}

// output is a record for the next Flush. A nil value is a tombstone.
type output struct {
	to    string // name of the output
	key   string
	value []byte
}

const (
	keysKey = "keys"
	openKey = "open"
)

// New returns a Dedup with the committed state of t.
func New(cfg Config, t stream.Task) (*Dedup, error) {
	err := cfg.setDefaults()
	if err != nil {
		return nil, err
	}
	d := &Dedup{
		cfg: cfg, partition: t.Partition, timers: t.Timers,
		keys:   state.NewCache(keyTable(), t.Get),
		pools:  state.NewCache(poolTable(), t.Get),
		counts: state.NewCache(countTable(), t.Get),
	}
	d.changes = changes.Decoder{Rules: d.cfg.rules(), RowKey: rowKey, Prefetch: d.keys.Prefetch, Fold: d.fold}
	for i, f := range []struct {
		key string
		to  *int64
	}{{keysKey, &d.stats.Keys}, {openKey, &d.stats.OpenDuplicates}} {
		if *f.to, _, err = d.counts.Get(f.key); err != nil {
			return nil, d.fail(err)
		}
		d.counted[i] = *f.to
	}
	return d, nil
}

func (d *Dedup) fail(err error) error {
	return fmt.Errorf("dedup, partition %d: %w", d.partition, err)
}

// Fold applies the changes of b. Invalid records go to b.Reject. An error means that the state
// could not be read.
func (d *Dedup) Fold(b *stream.Batch) error {
	if err := d.changes.Each(b); err != nil {
		return d.fail(err)
	}
	return nil
}

// rowKey returns the key of the key's row that a change is about; empty if it is about another kind
// of row.
func rowKey(c *changes.Change) string {
	if k := c.GetKey(); k != nil {
		return changes.RowKey(c, k.Key)
	}
	return ""
}

func (d *Dedup) fold(c *changes.Change) error {
	switch row := c.Row.(type) {
	case *eventspb.LeaseChange_Key:
		return d.foldKey(c, row.Key)
	case *eventspb.LeaseChange_Settings:
		return d.foldSettings(c, row.Settings)
	}
	return nil
}

// foldSettings keeps the settings of a pool. Those of a deleted pool stay: its duplicates end by
// them.
func (d *Dedup) foldSettings(c *changes.Change, s *eventspb.LeasePool) error {
	if c.Gone {
		return nil
	}
	key := changes.PoolKey(c)
	known, ok, err := d.pools.Get(key)
	if err != nil || ok && s.Version <= known.version {
		return err
	}
	d.pools.Put(key, pool{s.Version, cmp.Or(s.Duplicates, modeSupersede), s.QuarantineMs, s.Buckets})
	return nil
}

func (d *Dedup) foldKey(c *changes.Change, k *eventspb.LeaseKey) error {
	name := c.RowKey
	e, known, err := d.keys.Get(name)
	if err != nil {
		return err
	}
	row := Row{
		Region: k.Region, Version: k.Version, State: lease.State(k.State), Resource: k.Resource, ResourceVersion: k.ResourceVersion,
		Expires: k.ExpiresMs, Granted: k.GrantedMs, Winner: k.Winner, LatestExpires: k.ExpiresMs,
	}
	if c.Gone {
		row.State = RowDeleted
	}
	e.Rows = slices.Clone(e.Rows) // Get shares its slices
	i, found := e.row(k.Region)
	if found {
		row.LatestExpires = max(row.LatestExpires, e.Rows[i].LatestExpires)
	}
	switch {
	case !found:
		e.Rows = slices.Insert(e.Rows, i, row)
	// The change that reports a deletion may have the version of the deleted row.
	case k.Version > e.Rows[i].Version, k.Version == e.Rows[i].Version && c.Gone && e.Rows[i].State != RowDeleted:
		e.Rows[i] = row
	default:
		if d.stats.Stale++; row.LatestExpires > e.Rows[i].LatestExpires {
			e.Rows[i].LatestExpires = row.LatestExpires
			d.keys.Put(name, e)
		}
		return nil
	}
	d.stats.Changes++
	if !known {
		d.stats.Keys++
	}
	if e.needsDecision() {
		d.setTimer(name, &e, immediateMs)
	} else {
		d.setTimer(name, &e, d.dropAfter(&row))
	}
	d.keys.Put(name, e)
	return nil
}

// needsDecision reports whether the key may have a duplicate to decide.
func (k *Key) needsDecision() bool {
	n := 0
	for i := range k.Rows {
		if s := k.Rows[i].State; s == lease.Leased || s == lease.Superseded {
			n++
		}
	}
	return n > 1 || k.Duplicate.open()
}

// immediateMs is the time of a timer that fires at the end of the transaction that sets it.
const immediateMs = 1

// dropAfter returns the time after which a row is forgotten, Unix ms.
func (d *Dedup) dropAfter(r *Row) int64 {
	return max(immediateMs, r.LatestExpires+d.cfg.Skew.Milliseconds()+d.cfg.Margin.Milliseconds())
}

// setTimer sets the timer of a key to atMs, unless an earlier one is set.
func (d *Dedup) setTimer(name string, k *Key, atMs int64) {
	if k.Timer != 0 {
		if k.Timer <= atMs {
			return
		}
		d.timers.Cancel(timer(k.Timer, name))
	}
	k.Timer = atMs
	d.timers.Set(timer(atMs, name))
}

func timer(atMs int64, name string) stream.Timer {
	return stream.Timer{Clock: stream.WallTime, AtMs: atMs, Key: []byte(name)}
}

// Flush returns the changes of the state and the output records.
func (d *Dedup) Flush(_ stream.Commit, ch *stream.Changes) error {
	for i, f := range []struct {
		key string
		n   int64
	}{{keysKey, d.stats.Keys}, {openKey, d.stats.OpenDuplicates}} {
		if f.n != d.counted[i] {
			d.counts.Put(f.key, f.n)
			d.counted[i] = f.n
		}
	}
	d.keys.Flush(ch)
	d.pools.Flush(ch)
	d.counts.Flush(ch)
	for i := range d.out {
		ch.EmitTo(d.out[i].to, d.partition, stream.Message{Key: []byte(d.out[i].key), Value: d.out[i].value})
	}
	clear(d.out)
	d.out, d.stats.Resolutions = d.out[:0], d.stats.Resolutions[:0]
	return nil
}

// PendingBytes estimates the size of the next Flush.
func (d *Dedup) PendingBytes() int { return 256 * (d.keys.Len() + len(d.out)) }

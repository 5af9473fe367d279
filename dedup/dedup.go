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

// Dedup watches the keys of one task. It is not safe for concurrent use. After an error it is of no more use: the state that
// was committed is the truth, and New begins from it.
type Dedup struct {
	cfg       Config
	partition int32
	timers    stream.Timers
	keys      *state.Cache[string, Key]
	pools     *state.Cache[string, pool]
	counts    *state.Cache[string, int64]
	out       []output
	stats     Stats
	counted   [2]int64 // of stats.Keys and stats.Open, what is in the table
}

// output is a record to be written at the next Flush; without value it is a tombstone.
type output struct {
	to    string // name of the output
	key   string
	value []byte
}

const (
	keysKey = "keys"
	openKey = "open"
)

// New returns a Dedup that stands where t's committed state does.
func New(cfg Config, t stream.Task) (*Dedup, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &Dedup{
		cfg: cfg, partition: t.Partition, timers: t.Timers,
		keys:   state.NewCache(state.NewTable(TableKeys, state.String{}, keys()), t.Get),
		pools:  state.NewCache(state.NewTable(TablePools, state.String{}, pools()), t.Get),
		counts: state.NewCache(state.NewTable(TableCounts, state.String{}, state.Varint{}), t.Get),
	}
	for i, f := range []struct {
		key string
		to  *int64
	}{{keysKey, &d.stats.Keys}, {openKey, &d.stats.Open}} {
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

// Fold takes the changes of b. Those that it refuses go to b.Reject; an error means that state could not be read.
func (d *Dedup) Fold(b *stream.Batch) error {
	fold := changes.Fold{Row: rowOf, Prefetch: d.keys.Prefetch, Change: d.fold}
	if err := fold.Each(b); err != nil {
		return d.fail(err)
	}
	return nil
}

// rowOf is where the row of a key is that a change is about.
func rowOf(c *eventspb.LeaseChange) string {
	if r := c.GetKey(); r != nil {
		return changes.RowKey(c, r.Key)
	}
	return ""
}

func (d *Dedup) fold(c *eventspb.LeaseChange) (*changes.Refusal, error) {
	switch row := c.Row.(type) {
	case nil:
		return changes.Refuse(changes.ReasonNoRow, "the change has no row of a kind that is known here"), nil
	case *eventspb.LeaseChange_Key:
		bad := changes.CheckNames(c)
		if bad == nil {
			bad = d.checkKey(row.Key)
		}
		if bad != nil {
			return bad, nil
		}
		return nil, d.foldKey(c, row.Key)
	case *eventspb.LeaseChange_Settings:
		bad := changes.CheckNames(c)
		if bad == nil && !c.Gone {
			bad = checkSettings(row.Settings)
		}
		if bad != nil || c.Gone { // duplicates of a pool that was removed end by its last settings
			return bad, nil
		}
		return nil, d.foldSettings(c, row.Settings)
	}
	return nil, nil // of no interest here
}

func (d *Dedup) foldSettings(c *eventspb.LeaseChange, s *eventspb.LeasePool) error {
	key := c.Client + "\x00" + c.Pool
	known, ok, err := d.pools.Get(key)
	if err != nil || ok && s.Version <= known.version {
		return err
	}
	d.pools.Put(key, pool{s.Version, cmp.Or(s.Duplicates, modeSupersede), s.QuarantineMs, s.Buckets})
	return nil
}

func (d *Dedup) foldKey(c *eventspb.LeaseChange, k *eventspb.LeaseKey) error {
	name := changes.RowKey(c, k.Key)
	e, known, err := d.keys.Get(name)
	if err != nil {
		return err
	}
	row := Row{
		Region: k.Region, Version: k.Version, State: lease.State(k.State), Resource: k.Resource, ResourceVersion: k.ResourceVersion,
		Expires: k.ExpiresMs, Granted: k.GrantedMs, Winner: k.Winner, LatestExpires: k.ExpiresMs,
	}
	if c.Gone {
		row.State = Deleted
	}
	e.Rows = slices.Clone(e.Rows) // what the table has is a value
	i, found := e.row(k.Region)
	if found {
		row.LatestExpires = max(row.LatestExpires, e.Rows[i].LatestExpires)
	}
	switch {
	case !found:
		e.Rows = slices.Insert(e.Rows, i, row)
	// A row that is gone may be told of with the version that it had.
	case k.Version > e.Rows[i].Version, k.Version == e.Rows[i].Version && c.Gone && e.Rows[i].State != Deleted:
		e.Rows[i] = row
	default:
		if d.stats.Old++; row.LatestExpires > e.Rows[i].LatestExpires {
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

// needsDecision says whether there may be something to decide.
func (k *Key) needsDecision() bool {
	n := 0
	for i := range k.Rows {
		if s := k.Rows[i].State; s == lease.Leased || s == lease.Superseded {
			n++
		}
	}
	return n > 1 || k.Duplicate.open()
}

// immediateMs is the time of a timer that fires at the end of the transaction in which it is set.
const immediateMs = 1

// dropAfter is from when on a row is forgotten.
func (d *Dedup) dropAfter(r *Row) int64 {
	return max(immediateMs, r.LatestExpires+d.cfg.Skew.Milliseconds()+d.cfg.Margin.Milliseconds())
}

// setTimer makes the timer of a key fire at atMs, or before if one is set that does.
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

// Flush hands over rows and records.
func (d *Dedup) Flush(_ stream.Commit, ch *stream.Changes) error {
	for i, f := range []struct {
		key string
		n   int64
	}{{keysKey, d.stats.Keys}, {openKey, d.stats.Open}} {
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
	d.out = d.out[:0]
	return nil
}

// PendingBytes is about how many bytes the next Flush hands over.
func (d *Dedup) PendingBytes() int { return 256 * (d.keys.Len() + len(d.out)) }

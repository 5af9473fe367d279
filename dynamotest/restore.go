package dynamotest

import (
	"fmt"
	"strconv"

	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/journal"
	"github.com/weirhq/weir/dynamotest/internal/stream"
	"github.com/weirhq/weir/dynamotest/internal/table"
)

// restore opens the directory and makes of its entries what they were made of. What was on its way to another region
// when the process ended is sent again.
func (c *Cloud) restore() error {
	now := c.now
	c.replays, c.now = true, 0
	j, err := journal.Open(c.cfg.Dir, func(text []byte) error {
		e, err := decodeEntry(text)
		if err != nil {
			return err
		}
		return c.replay(e)
	})
	if err != nil {
		return err
	}
	c.journal, c.replays, c.now = j, false, max(c.now, now)
	if c.resend(); c.afloat == 0 {
		c.forgetGraves()
	}
	return nil
}

// replay does what an entry says.
func (c *Cloud) replay(e *entry) error {
	c.now = max(c.now, e.Now)
	r := c.Region(e.Region)
	if r == nil {
		return fmt.Errorf("it is about the region %q: name it in the configuration, which has %q", e.Region, c.cfg.Regions)
	}
	t := r.tables[e.Table]
	switch e.Kind {
	case entryDefine:
		return c.replayDefinition(r, e.Definition)
	case entryStream:
		r.streams = append(r.streams, &liveStream{
			Stream: stream.Restore(e.Stream.State, c.now), arn: r.arn(e.Table) + "/stream/" + e.Stream.Label, label: e.Stream.Label,
			table: e.Table, view: e.Stream.View, schema: e.Stream.Schema, began: e.Stream.Began,
		})
		return nil
	case entryRecord:
		return r.replayRecord(e)
	}
	if t == nil {
		return fmt.Errorf("it is about the table %q, which is not there", e.Table)
	}
	switch e.Kind {
	case entryDrop:
		r.remove(e.Table)
	case entryChange:
		of := e.item
		if of == (item.Item{}) {
			of = e.keys
		}
		key := t.key(of)
		return t.change(key, t.rows.Get(key), table.Row{Item: e.item, Stamp: e.Stamp})
	case entryRow:
		t.place(t.key(e.item), table.Row{Item: e.item, Stamp: e.Stamp})
	case entryGrave:
		t.graves[string(e.Key)] = e.Stamp
	default:
		return fmt.Errorf("it is of the unknown kind %q: it is of a newer version", e.Kind)
	}
	return nil
}

func (c *Cloud) replayDefinition(r *Region, def *table.Definition) error {
	if def == nil || len(def.TableID) < 12 {
		return fmt.Errorf("a definition without a table: it is of a newer version")
	}
	if n, err := strconv.ParseUint(def.TableID[len(def.TableID)-12:], 16, 64); err == nil {
		c.ids = max(c.ids, n)
	}
	t := r.tables[def.TableName]
	if t == nil {
		t = newLiveTable(r, def)
		r.tables[def.TableName] = t
	}
	t.adopt(def)
	return nil
}

// replayRecord gives the newest stream of the region a record.
func (r *Region) replayRecord(e *entry) error {
	if len(r.streams) == 0 {
		return fmt.Errorf("a record without a stream")
	}
	s := r.streams[len(r.streams)-1]
	rec := e.Record
	rec.Keys, rec.New, rec.Old = e.keys, e.item, e.old
	return s.Put(e.Shard, rec)
}

// place makes the row one of the table that nobody hears of.
func (t *liveTable) place(key string, row table.Row) {
	t.rows.Set(key, row)
	if t.late != nil {
		t.late.rows.Set(key, row)
	}
	for _, in := range t.indexes {
		in.Apply(in.Move(key, item.Item{}, row.Item))
	}
}

// resend sends to each replica what it lacks.
func (c *Cloud) resend() {
	for _, r := range c.regions {
		for _, name := range sortedKeys(r.tables) {
			t := r.tables[name]
			for _, other := range c.replicas(t) {
				if other != t {
					t.sendMissing(other)
				}
			}
		}
	}
}

func (t *liveTable) sendMissing(other *liveTable) {
	c := t.region.cloud
	l := c.link(t.region, other.region)
	send := func(key string, row table.Row) {
		if other.stampOf(key, other.rows.Get(key)).Before(row.Stamp) {
			l.send(c, parcel{id: t.def.TableName + "/" + key, table: t.def.TableName, key: key, row: row})
		}
	}
	for key, row := range t.rows.Ascend(table.Span{}) {
		send(key, row)
	}
	for _, key := range sortedKeys(t.graves) {
		send(key, table.Row{Stamp: t.graves[key]})
	}
}

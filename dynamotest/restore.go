package dynamotest

import (
	"fmt"
	"strconv"

	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/journal"
	"github.com/weirhq/weir/dynamotest/internal/stream"
	"github.com/weirhq/weir/dynamotest/internal/table"
)

// restore opens the directory and replays its entries. It sends again the replicated writes that
// had not arrived when the process ended.
func (c *Cloud) restore() error {
	now := c.now
	c.replaying, c.now = true, 0
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
	c.journal, c.replaying, c.now = j, false, max(c.now, now)
	if c.resend(); c.inTransit == 0 {
		c.dropTombstones()
	}
	return nil
}

// replay applies an entry of the journal.
func (c *Cloud) replay(e *entry) error {
	c.now = max(c.now, e.Now)
	r := c.Region(e.Region)
	if r == nil {
		return fmt.Errorf("the entry belongs to the region %q: Config.Regions must contain it, and has %q", e.Region, c.cfg.Regions)
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
		return fmt.Errorf(
			"the entry belongs to the table %q, which does not exist: the directory is damaged: restore it from a copy, or remove it",
			e.Table)
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
		t.restoreRow(t.key(e.item), table.Row{Item: e.item, Stamp: e.Stamp})
	case entryTombstone:
		t.tombstones[string(e.Key)] = e.Stamp
	default:
		return fmt.Errorf("the entry has the unknown kind %q: a newer version wrote it: use that version, or another directory", e.Kind)
	}
	return nil
}

func (c *Cloud) replayDefinition(r *Region, def *table.Definition) error {
	if def == nil || len(def.TableID) < 12 {
		return fmt.Errorf("the entry has a definition without a table: a newer version wrote it: use that version, or another directory")
	}
	if n, err := strconv.ParseUint(def.TableID[len(def.TableID)-12:], 16, 64); err == nil {
		c.ids = max(c.ids, n)
	}
	t := r.tables[def.TableName]
	if t == nil {
		t = newLiveTable(r, def)
		r.tables[def.TableName] = t
	}
	t.apply(def)
	return nil
}

// replayRecord adds a record to the region's newest stream.
func (r *Region) replayRecord(e *entry) error {
	if len(r.streams) == 0 {
		return fmt.Errorf("the entry has a record without a stream: the directory is damaged: restore it from a copy, or remove it")
	}
	s := r.streams[len(r.streams)-1]
	rec := e.Record
	rec.Keys, rec.New, rec.Old = e.keys, e.item, e.old
	return s.Put(e.Shard, rec)
}

// restoreRow stores a row of a snapshot. It creates no stream record and replicates nothing.
func (t *liveTable) restoreRow(key string, row table.Row) {
	t.rows.Set(key, row)
	if t.stale != nil {
		t.stale.rows.Set(key, row)
	}
	for _, in := range t.indexes {
		in.Apply(in.Move(key, item.Item{}, row.Item))
	}
}

// resend sends to each replica the writes that it lacks.
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
			l.send(c, replicatedWrite{id: t.def.TableName + "/" + key, table: t.def.TableName, key: key, row: row})
		}
	}
	for key, row := range t.rows.Ascend(table.Span{}) {
		send(key, row)
	}
	for _, key := range sortedKeys(t.tombstones) {
		send(key, table.Row{Stamp: t.tombstones[key]})
	}
}

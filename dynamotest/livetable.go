package dynamotest

import (
	"slices"

	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/stream"
	"github.com/weirhq/weir/dynamotest/internal/table"
)

// liveTable is a table in one region. The cloud's mutex guards it.
type liveTable struct {
	region     *Region
	def        *table.Definition // never changed, only replaced
	keys       table.Keys
	rows       *table.Rows
	stale      *staleRows // what eventually consistent reads see; nil if they see rows
	indexes    []*liveIndex
	stream     *liveStream            // nil without an enabled stream
	tombstones map[string]table.Stamp // of a global table: the stamps of deleted items, by key
}

// staleRows are rows that lag behind those of the table.
type staleRows struct {
	rows  *table.Rows
	lanes lanes
}

// liveIndex is an index that lags behind its table.
type liveIndex struct {
	*table.Index
	lanes lanes
}

// liveStream is a stream of a table, enabled or disabled.
type liveStream struct {
	*stream.Stream
	arn, label, table, view string
	schema                  []table.KeyElement
	began                   int64
}

func newLiveTable(r *Region, def *table.Definition) *liveTable {
	t := &liveTable{region: r, keys: def.Keys(), rows: table.NewRows(), tombstones: map[string]table.Stamp{}}
	if r.cloud.cfg.Profile.ReadLag.Max > 0 {
		t.stale = &staleRows{rows: table.NewRows()}
	}
	t.define(def)
	return t
}

// define sets the definition of the table. It fills new indexes and drops those that the definition
// no longer has.
func (t *liveTable) define(def *table.Definition) {
	t.def = def
	t.indexes = slices.DeleteFunc(t.indexes, func(in *liveIndex) bool { return def.Index(in.Definition.IndexName) < 0 })
	for _, x := range def.Indexes {
		if i := t.index(x.IndexName); i != nil {
			i.Definition = x
			continue
		}
		in := &liveIndex{Index: table.NewIndex(def, x)}
		for key, row := range t.rows.Ascend(table.Span{}) {
			in.Apply(in.Move(key, item.Item{}, row.Item))
		}
		t.indexes = append(t.indexes, in)
	}
}

// index returns the index with that name, or nil.
func (t *liveTable) index(name string) *liveIndex {
	for _, in := range t.indexes {
		if in.Definition.IndexName == name {
			return in
		}
	}
	return nil
}

// key returns the encoded key of an item. The key attributes must be valid.
func (t *liveTable) key(it item.Item) string {
	var room [256]byte
	return string(t.keys.Append(room[:0], it))
}

// keyItem returns the key attributes of an item.
func (t *liveTable) keyItem(it item.Item) item.Item { return it.Only(t.keys.Names()...) }

// stampOf returns the stamp of the last write or deletion of the item with that key.
func (t *liveTable) stampOf(key string, row table.Row) table.Stamp {
	if row.Exists() {
		return row.Stamp
	}
	return t.tombstones[key]
}

// write replaces the item with that key by to, in the region of the request. The zero Item deletes
// it.
func (t *liveTable) write(key string, from table.Row, to item.Item) error {
	if from.Item == to {
		return nil // an unchanged item gives no stream record and is not replicated
	}
	c := t.region.cloud
	// The stamp is later than that of the row found, even if the clock stands still.
	row := table.Row{Item: to, Stamp: table.Stamp{At: max(c.now, t.stampOf(key, from).At+1), Region: t.region.name}}
	if err := t.change(key, from, row); err != nil {
		return err
	}
	t.replicate(key, row)
	return nil
}

// change stores the row and its journal entry, and updates stale rows, indexes and the stream.
func (t *liveTable) change(key string, from, row table.Row) error {
	c := t.region.cloud
	keys := from.Item
	if !from.Exists() {
		keys = row.Item
	}
	keys = t.keyItem(keys)
	if err := c.recordChange(t, keys, row); err != nil {
		return err
	}
	t.rows.Set(key, row)
	switch {
	case row.Exists():
		delete(t.tombstones, key)
	case len(t.def.Replicas) > 0:
		t.tombstones[key] = row.Stamp
	}
	if from.Item == row.Item {
		return nil
	}
	if t.stale != nil {
		c.later(t.stale.lanes.due(key, c.now, c.cfg.Profile.ReadLag, c.rng), func() { t.stale.rows.Set(key, row) })
	}
	for _, in := range t.indexes {
		if move := in.Move(key, from.Item, row.Item); !move.IsEmpty() {
			c.later(in.lanes.due(key, c.now, c.cfg.Profile.IndexLag, c.rng), func() { in.Apply(move) })
		}
	}
	if t.stream != nil {
		t.stream.addRecord(c, key, stream.Record{Keys: keys, Old: from.Item, New: row.Item})
	}
	return nil
}

// addRecord adds the record of a change to the stream. r has the keys and both images of the item;
// addRecord removes the images that the stream's view does not have.
func (s *liveStream) addRecord(c *Cloud, key string, r stream.Record) {
	r.Event, r.Visible = "MODIFY", c.now
	if !c.replaying {
		r.Visible += c.cfg.Profile.StreamLag.draw(c.rng)
	}
	switch {
	case r.Old == item.Item{}:
		r.Event = "INSERT"
	case r.New == item.Item{}:
		r.Event = "REMOVE"
	}
	if s.view != "OLD_IMAGE" && s.view != bothImages {
		r.Old = item.Item{}
	}
	if s.view != "NEW_IMAGE" && s.view != bothImages {
		r.New = item.Item{}
	}
	s.Add(c.now, table.HashOf(key), r)
}

// bothImages is the view type that the stream of a global table must have.
const bothImages = "NEW_AND_OLD_IMAGES"

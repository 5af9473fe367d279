package dynamotest

import (
	"slices"

	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/stream"
	"github.com/weirhq/weir/dynamotest/internal/table"
)

// liveTable is a table in one region. All of it changes under the cloud's mutex only.
type liveTable struct {
	region  *Region
	def     *table.Definition // never changed, only replaced
	keys    table.Keys
	rows    *table.Rows
	late    *lateRows // what a read without ConsistentRead sees, nil if that is rows
	indexes []*liveIndex
	stream  *liveStream            // nil while there is none
	graves  map[string]table.Stamp // of a global table: who deleted which item when
}

// lateRows are rows that lag behind those of the table.
type lateRows struct {
	rows  *table.Rows
	lanes lanes
}

// liveIndex is an index that lags behind its table.
type liveIndex struct {
	*table.Index
	lanes lanes
}

// liveStream is a stream of a table, enabled or not any more.
type liveStream struct {
	*stream.Stream
	arn, label, table, view string
	schema                  []table.KeyElement
	began                   int64
}

func newLiveTable(r *Region, def *table.Definition) *liveTable {
	t := &liveTable{region: r, keys: def.Keys(), rows: table.NewRows(), graves: map[string]table.Stamp{}}
	if r.cloud.cfg.Profile.ReadLag.Max > 0 {
		t.late = &lateRows{rows: table.NewRows()}
	}
	t.define(def)
	return t
}

// define gives the table another definition: it fills the indexes that are new, and drops those that are gone.
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

// index returns the index of that name, nil if there is none.
func (t *liveTable) index(name string) *liveIndex {
	for _, in := range t.indexes {
		if in.Definition.IndexName == name {
			return in
		}
	}
	return nil
}

// key returns the key of an item with valid key attributes.
func (t *liveTable) key(it item.Item) string {
	var room [256]byte
	return string(t.keys.Append(room[:0], it))
}

// keyItem returns the key attributes of an item.
func (t *liveTable) keyItem(it item.Item) item.Item { return it.Only(t.keys.Names()...) }

// stampOf returns who wrote or deleted the item of the key last.
func (t *liveTable) stampOf(key string, row table.Row) table.Stamp {
	if row.Exists() {
		return row.Stamp
	}
	return t.graves[key]
}

// write makes to, which may be no item, the item of the key in the region where the request is made.
func (t *liveTable) write(key string, from table.Row, to item.Item) error {
	if from.Item == to {
		return nil // nothing changes, and nobody hears of it
	}
	c := t.region.cloud
	// A write comes after what it found, even if the clock stands still.
	row := table.Row{Item: to, Stamp: table.Stamp{At: max(c.now, t.stampOf(key, from).At+1), Region: t.region.name}}
	if err := t.change(key, from, row); err != nil {
		return err
	}
	t.replicate(key, row)
	return nil
}

// change stores the row, and tells those who follow the table in this region.
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
		delete(t.graves, key)
	case len(t.def.Replicas) > 0:
		t.graves[key] = row.Stamp
	}
	if from.Item == row.Item {
		return nil
	}
	if t.late != nil {
		c.later(t.late.lanes.due(key, c.now, c.cfg.Profile.ReadLag, c.dice), func() { t.late.rows.Set(key, row) })
	}
	for _, in := range t.indexes {
		if move := in.Move(key, from.Item, row.Item); !move.Nothing() {
			c.later(in.lanes.due(key, c.now, c.cfg.Profile.IndexLag, c.dice), func() { in.Apply(move) })
		}
	}
	if t.stream != nil {
		t.stream.note(c, key, keys, from.Item, row.Item)
	}
	return nil
}

// note adds the record of a change to the stream.
func (s *liveStream) note(c *Cloud, key string, keys, from, to item.Item) {
	r := stream.Record{Event: "MODIFY", Keys: keys, Visible: c.now}
	if !c.replays {
		r.Visible += c.cfg.Profile.StreamLag.draw(c.dice)
	}
	switch {
	case from == item.Item{}:
		r.Event = "INSERT"
	case to == item.Item{}:
		r.Event = "REMOVE"
	}
	if s.view == "OLD_IMAGE" || s.view == bothImages {
		r.Old = from
	}
	if s.view == "NEW_IMAGE" || s.view == bothImages {
		r.New = to
	}
	s.Add(c.now, table.HashOf(key), r)
}

// bothImages is the view of a stream that global tables need.
const bothImages = "NEW_AND_OLD_IMAGES"

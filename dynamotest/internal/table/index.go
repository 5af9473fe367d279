package table

import (
	"slices"

	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// Index is a global secondary index: the items that have its key attributes, with the projected
// attributes.
type Index struct {
	Definition IndexDefinition
	Keys       Keys // key attributes of the index
	Rows       *Rows
	table      Keys
	names      []string // projected attributes, nil for all
}

// NewIndex returns the index without rows.
func NewIndex(d *Definition, x IndexDefinition) *Index {
	in := &Index{Definition: x, Keys: d.IndexKeys(x), Rows: NewRows(), table: d.Keys()}
	if x.Projection.ProjectionType != "ALL" {
		in.names = slices.Concat(in.table.Names(), in.Keys.Names(), x.Projection.NonKeyAttributes)
	}
	return in
}

// Names returns the projected attributes, nil for all.
func (in *Index) Names() []string { return in.names }

// Entry returns the index entry for an item of the table with that key: its key and its item. The
// key is "" if the item is not in the index.
func (in *Index) Entry(tableKey string, it item.Item) (key string, projected item.Item) {
	if (it == item.Item{}) || !in.Keys.Covers(it) {
		return "", item.Item{}
	}
	if projected = it; in.names != nil {
		projected = it.Only(in.names...)
	}
	return string(append(in.Keys.Append(nil, it), tableKey...)), projected
}

// Append appends the index key of an item, or of the key attributes with which a page ended.
func (in *Index) Append(dst []byte, it item.Item) []byte {
	return in.table.Append(in.Keys.Append(dst, it), it)
}

// Move is the effect of an item's change on an index.
type Move struct {
	from, to string // keys of the old and the new entry; "" for no entry
	old, new item.Item
}

// Move returns the effect on the index of changing an item from one state to another. The zero Item
// stands for no item.
func (in *Index) Move(tableKey string, from, to item.Item) Move {
	var m Move
	m.from, m.old = in.Entry(tableKey, from)
	m.to, m.new = in.Entry(tableKey, to)
	return m
}

// IsEmpty reports whether the index does not change.
func (m Move) IsEmpty() bool { return m.from == m.to && m.old == m.new }

// Cost returns the number of writes to the index, and the size of the larger entry in bytes.
func (m Move) Cost() (writes, size int) {
	size = max(m.old.Size(), m.new.Size())
	switch {
	case m.IsEmpty():
		return 0, 0
	case m.from != "" && m.to != "" && m.from != m.to:
		return 2, size
	default:
		return 1, size
	}
}

// Apply removes the old entry and stores the new one.
func (in *Index) Apply(m Move) {
	if m.from != "" && m.from != m.to {
		in.Rows.Set(m.from, Row{})
	}
	if m.to != "" {
		in.Rows.Set(m.to, Row{Item: m.new})
	}
}

// CheckItem returns an error if the item has a key attribute of the index with a type or a value
// that a key cannot have.
func (in *Index) CheckItem(it item.Item) error {
	for i, a := range [...]Attr{in.Keys.Hash, in.Keys.Range} {
		v := it.Get(a.Name)
		if a.Name == "" || !v.Exists() {
			continue
		}
		if v.Kind() != a.Kind {
			return wire.InvalidParameter("Type mismatch for Index Key " + a.Name + " Expected: " + a.Kind.String() + " Actual: " +
				v.Kind().String() + " IndexName: " + in.Definition.IndexName)
		}
		if empty := emptyKind(v); empty != "" {
			return wire.Invalid(
				"One or more parameter values are not valid. A value specified for a secondary index key is not supported. The AttributeValue for a key attribute cannot contain an empty " + empty + " value. IndexName: " + in.Definition.IndexName + ", IndexKey: " + a.Name)
		}
		if limit := [...]int{item.MaxHashKey, item.MaxRangeKey}[i]; a.Kind != item.N && v.Size() > limit {
			return wire.InvalidParameter("Size of " + [...]string{"hashkey", "rangekey"}[i] + " has exceeded the maximum size limit of " +
				[...]string{"2048", "1024"}[i] + " bytes")
		}
	}
	return nil
}

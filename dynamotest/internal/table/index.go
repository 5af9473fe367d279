package table

import (
	"slices"

	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// Index is a global secondary index: those items that have its keys, and what it projects of them.
type Index struct {
	Definition IndexDefinition
	Keys       Keys // its own
	Rows       *Rows
	table      Keys
	names      []string // what is projected, nil for all
}

// NewIndex returns the index without rows.
func NewIndex(d *Definition, x IndexDefinition) *Index {
	in := &Index{Definition: x, Keys: d.IndexKeys(x), Rows: NewRows(), table: d.Keys()}
	if x.Projection.ProjectionType != "ALL" {
		in.names = slices.Concat(in.table.Names(), in.Keys.Names(), x.Projection.NonKeyAttributes)
	}
	return in
}

// Names returns the attributes that are projected, nil if all are.
func (in *Index) Names() []string { return in.names }

// Entry returns the key and the item that the index has for an item of the table with the key given; key "" if none.
func (in *Index) Entry(tableKey string, it item.Item) (key string, projected item.Item) {
	if (it == item.Item{}) || !in.Keys.Covers(it) {
		return "", item.Item{}
	}
	if projected = it; in.names != nil {
		projected = it.Only(in.names...)
	}
	return string(append(in.Keys.Append(nil, it), tableKey...)), projected
}

// Append appends the key that the index has for an item, or for a key of the index that a page ended with.
func (in *Index) Append(dst []byte, it item.Item) []byte {
	return in.table.Append(in.Keys.Append(dst, it), it)
}

// Replace takes out the entry of the item's former state, and puts in that of its new one; either may be none.
func (in *Index) Replace(tableKey string, from, to item.Item) {
	before, _ := in.Entry(tableKey, from)
	after, projected := in.Entry(tableKey, to)
	if before != "" && before != after {
		in.Rows.Set(before, Row{})
	}
	if after != "" {
		in.Rows.Set(after, Row{Item: projected})
	}
}

// Changes returns how many writes the change costs the index, and the size of the larger one.
func (in *Index) Changes(from, to item.Item) (writes, size int) {
	before, old := in.Entry("", from)
	after, projected := in.Entry("", to)
	switch {
	case before == after && old == projected:
		return 0, 0
	case before != "" && after != "" && before != after:
		writes = 2
	default:
		writes = 1
	}
	return writes, max(old.Size(), projected.Size())
}

// CheckItem returns an error if the item has an attribute of the index's keys that cannot be one.
func (in *Index) CheckItem(it item.Item) error {
	for i, a := range [...]Attr{in.Keys.Hash, in.Keys.Range} {
		v := it.Get(a.Name)
		if a.Name == "" || !v.Exists() {
			continue
		}
		if v.Kind() != a.Kind {
			return wire.InvalidParameter("Type mismatch for Index Key " + a.Name + " Expected: " + a.Kind.String() + " Actual: " + v.Kind().String() + " IndexName: " + in.Definition.IndexName)
		}
		if empty := emptyKind(v); empty != "" {
			return wire.Invalid("One or more parameter values are not valid. A value specified for a secondary index key is not supported. The AttributeValue for a key attribute cannot contain an empty " + empty + " value. IndexName: " + in.Definition.IndexName + ", IndexKey: " + a.Name)
		}
		if limit := [...]int{item.MaxHashKey, item.MaxRangeKey}[i]; a.Kind != item.N && v.Size() > limit {
			return wire.InvalidParameter("Size of " + [...]string{"hashkey", "rangekey"}[i] + " has exceeded the maximum size limit of " + [...]string{"2048", "1024"}[i] + " bytes")
		}
	}
	return nil
}

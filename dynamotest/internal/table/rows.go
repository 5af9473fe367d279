package table

import (
	"iter"
	"strings"

	"github.com/RaduBerinde/btreemap"

	"github.com/weirhq/weir/dynamotest/internal/item"
)

// Stamp orders the writes of an item: the later write wins, and of two at the same time the one of
// the region with the greater name.
type Stamp struct {
	At     int64 // nanoseconds since 1970
	Region string
}

// Before reports whether the write with stamp b wins over the one with stamp s.
func (s Stamp) Before(b Stamp) bool { return s.At < b.At || s.At == b.At && s.Region < b.Region }

// Row is an item with the stamp of its last write. Rows of an index have no stamp. A row without an
// item stands for no row.
type Row struct {
	Item  item.Item
	Stamp Stamp
}

// Exists reports whether the row has an item.
func (r Row) Exists() bool { return r.Item != item.Item{} }

// Rows are items in the order of their keys.
type Rows struct {
	tree *btreemap.BTreeMap[string, Row]
	size int64 // of the items in bytes, as DynamoDB counts it
}

// NewRows returns an empty Rows.
func NewRows() *Rows { return &Rows{tree: btreemap.New[string, Row](64, strings.Compare)} }

// Get returns the row with that key, or the zero Row.
func (r *Rows) Get(key string) Row {
	_, row, _ := r.tree.Get(key)
	return row
}

// Set stores the row under the key, or removes the key if the row has no item.
func (r *Rows) Set(key string, row Row) {
	var old Row
	if row.Exists() {
		_, old, _ = r.tree.ReplaceOrInsert(key, row)
		r.size += int64(row.Item.Size())
	} else {
		_, old, _ = r.tree.Delete(key)
	}
	r.size -= int64(old.Item.Size())
}

// Len returns the number of rows.
func (r *Rows) Len() int { return r.tree.Len() }

// Size returns the size of the items in bytes, as DynamoDB counts it.
func (r *Rows) Size() int64 { return r.size }

// Span is a range of keys. From is in the range unless Open is true; To is not in the range. An
// empty To means no upper bound.
type Span struct {
	From, To string
	Open     bool
}

// Prefix returns the span of the keys that begin with p.
func Prefix(p string) Span { return Span{From: p, To: after(p)} }

// after returns the first string after all strings with the prefix p. It returns "", the end of a
// Span, if p is empty or has only bytes 0xff.
func after(p string) string {
	b := []byte(p)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i]++; b[i] != 0 {
			return string(b[:i+1])
		}
	}
	return ""
}

// Ascend returns the rows of the span, first to last.
func (r *Rows) Ascend(s Span) iter.Seq2[string, Row] {
	from, to := btreemap.GE(s.From), btreemap.Max[string]()
	if s.Open {
		from = btreemap.GT(s.From)
	}
	if s.To != "" {
		to = btreemap.LT(s.To)
	}
	return r.tree.Ascend(from, to)
}

// Descend returns the rows of the span, last to first.
func (r *Rows) Descend(s Span) iter.Seq2[string, Row] {
	from, to := btreemap.Max[string](), btreemap.GE(s.From)
	if s.Open {
		to = btreemap.GT(s.From)
	}
	if s.To != "" {
		from = btreemap.LT(s.To)
	}
	return r.tree.Descend(from, to)
}

package table

import (
	"iter"
	"strings"

	"github.com/RaduBerinde/btreemap"

	"github.com/weirhq/weir/dynamotest/internal/item"
)

// Stamp says which of two writes of an item wins: the later one, and of two at the same time the one of the region with
// the greater name.
type Stamp struct {
	At     int64 // nanoseconds since 1970
	Region string
}

// Before tells whether the write b wins over s.
func (s Stamp) Before(b Stamp) bool { return s.At < b.At || s.At == b.At && s.Region < b.Region }

// Row is an item and who wrote it when; indexes have no stamps. A row without an item is none.
type Row struct {
	Item  item.Item
	Stamp Stamp
}

// Exists tells whether there is an item.
func (r Row) Exists() bool { return r.Item != item.Item{} }

// Rows are items in the order of their keys.
type Rows struct {
	tree *btreemap.BTreeMap[string, Row]
	size int64 // of the items, as DynamoDB counts
}

// NewRows returns no rows.
func NewRows() *Rows { return &Rows{tree: btreemap.New[string, Row](64, strings.Compare)} }

// Get returns the row of the key.
func (r *Rows) Get(key string) Row {
	_, row, _ := r.tree.Get(key)
	return row
}

// Set makes row the row of the key, or removes it if row is none.
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

// Len returns how many rows there are.
func (r *Rows) Len() int { return r.tree.Len() }

// Size returns how many bytes the items count.
func (r *Rows) Size() int64 { return r.size }

// Span is a range of keys: From (itself only if not Open), up to To, which is not in it. An empty To is no end.
type Span struct {
	From, To string
	Open     bool
}

// Prefix returns the span of the keys that begin with p.
func Prefix(p string) Span { return Span{From: p, To: after(p)} }

// after returns the first string after all that begin with p, "" if there is none.
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

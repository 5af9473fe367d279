package dynamotest

import (
	"iter"
	"strconv"

	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/table"
	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// pageBytes is the maximum number of bytes that one Query or Scan reads.
const pageBytes = 1 << 20

// reading is a Query or a Scan.
type reading struct {
	call *call
	q    *wire.Request
	name string
	expressions
}

// page is the result of one Query or Scan.
type page struct {
	items   []item.Item
	count   int // number of matching items, also if Select is COUNT
	scanned int // number of items read, before the filter
	bytes   int
	last    item.Item // key after which the next page begins; zero after the last page
	index   string
	table   string
}

// reading checks what does not depend on the table.
func (c *call) reading(q *wire.Request, without string) (*reading, error) {
	name, err := tableName(q.TableName)
	if err != nil {
		return nil, err
	}
	var rules constraints
	rules.capacity(q.ReturnCapacity)
	rules.oneOf(q.Select, "select", "[SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES]")
	rules.atLeastOne(q.Limit, "limit")
	if err := rules.err(); err != nil {
		return nil, err
	}
	if err := checkSelect(q); err != nil {
		return nil, err
	}
	e, err := c.expressions(q, without)
	return &reading{c, q, name, e}, err
}

// checkSelect checks Select against the other parameters.
func checkSelect(q *wire.Request) error {
	switch {
	case q.Select.Value == "ALL_PROJECTED_ATTRIBUTES" && !q.IndexName.Given:
		return wire.InvalidParameter("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
	case q.Select.Given && q.Select.Value != "SPECIFIC_ATTRIBUTES" && q.Projection.Given:
		return wire.Invalid("Cannot specify the ProjectionExpression when choosing to get " + q.Select.Value)
	case q.Select.Value == "SPECIFIC_ATTRIBUTES" && !q.Projection.Given:
		return wire.Invalid("Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES")
	default:
		return nil
	}
}

// source is the rows that a Query or Scan reads, with their keys.
type source struct {
	table *liveTable
	index *liveIndex // nil for the table itself
	rows  *table.Rows
	keys  table.Keys
}

// source finds the table or the index. The caller holds the mutex.
func (r *reading) source() (source, error) {
	t, err := r.call.table(r.name)
	if err != nil {
		return source{}, err
	}
	if !r.q.IndexName.Given {
		return source{table: t, rows: t.source(r.q.ConsistentRead), keys: t.keys}, r.checkKeys(t)
	}
	in := t.index(r.q.IndexName.Value)
	if in == nil {
		return source{}, wire.Invalid("The table does not have the specified index: " + r.q.IndexName.Value)
	}
	if in.Definition.Ready > r.call.cloud.now {
		return source{}, wire.Invalid("Cannot read from backfilling global secondary index: " + r.q.IndexName.Value)
	}
	if r.q.ConsistentRead {
		return source{}, wire.Invalid("Consistent reads are not supported on global secondary indexes")
	}
	if r.q.Select.Value == "ALL_ATTRIBUTES" && in.Names() != nil {
		return source{}, wire.InvalidParameter("Select type ALL_ATTRIBUTES is not supported for global secondary index " +
			r.q.IndexName.Value + " because its projection type is not ALL")
	}
	return source{table: t, index: in, rows: in.Rows, keys: in.Keys}, r.checkKeys(t)
}

// start returns the encoded key after which the page begins. It checks the key against the source.
func (s source) start(it item.Item) (string, error) {
	const invalid = "The provided starting key is invalid"
	names := s.table.keys.Names()
	if s.index != nil {
		names = s.keyNames()
	}
	if it.Len() != len(names) || !s.table.keys.Covers(it) || !s.keys.Covers(it) {
		return "", wire.Invalid(invalid + ": The provided key element does not match the schema")
	}
	if err := s.table.keys.CheckKey(s.table.keyItem(it)); err != nil {
		return "", wire.Invalid(invalid + ": " + wire.From(err).Message)
	}
	if s.index != nil {
		return string(s.index.Append(nil, it)), nil
	}
	return s.table.key(it), nil
}

// keyNames returns the key attributes of the index and of the table, each once.
func (s source) keyNames() []string {
	names := s.table.keys.Names()
	if s.index != nil {
		for _, n := range s.keys.Names() {
			if !s.table.keys.Has(n) {
				names = append(names, n)
			}
		}
	}
	return names
}

// read reads one page of the rows.
func (r *reading) read(s source, rows iter.Seq2[string, table.Row]) page {
	p := page{table: r.name}
	if s.index != nil {
		p.index = s.index.Definition.IndexName
	}
	limit := int(^uint(0) >> 1)
	if r.q.Limit.Given {
		limit = int(r.q.Limit.Value)
	}
	var last item.Item
	for _, row := range rows {
		size := row.Item.Size()
		if p.scanned > 0 && p.bytes+size > pageBytes {
			p.last = last.Only(s.keyNames()...)
			break
		}
		p.bytes += size
		p.scanned++
		last = row.Item
		if r.filter == nil || r.filter.Holds(row.Item) {
			p.count++
			if r.q.Select.Value != "COUNT" {
				p.items = append(p.items, row.Item)
			}
		}
		if p.scanned == limit { // DynamoDB does not check whether another item follows
			p.last = last.Only(s.keyNames()...)
			break
		}
	}
	return p
}

// answer returns the body of the answer.
func (r *reading) answer(p page) []byte {
	var a answer
	if r.q.Select.Value != "COUNT" {
		for i, it := range p.items {
			p.items[i] = r.selected(it)
		}
		a.items("Items", p.items)
	}
	a.out = strconv.AppendInt(a.member("Count"), int64(p.count), 10)
	a.out = strconv.AppendInt(a.member("ScannedCount"), int64(p.scanned), 10)
	a.item("LastEvaluatedKey", p.last)
	used := capacity{table: p.table}
	if units := readUnits(p.bytes, r.q.ConsistentRead); p.index != "" {
		used.indexes = []indexCapacity{{p.index, units}}
	} else {
		used.units = units
	}
	a.capacity(used, r.q.ReturnCapacity)
	return a.end()
}

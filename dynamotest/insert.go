package dynamotest

import (
	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/partiql"
	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// insert is one INSERT statement of a batch.
type insert struct {
	given string // the table's name as in the statement
	name  string
	table *liveTable
	item  item.Item
	key   string
	used  capacity
	err   error // the error in the response to the statement
}

// read builds the item from the statement and its parameters.
func (in *insert) read(parsed *partiql.Insert, s wire.Statement) {
	in.given = parsed.Table()
	in.name, in.err = tableName(wire.Text{Value: in.given, Given: true})
	if in.err != nil {
		return
	}
	if s.Err != nil {
		in.err = s.Err
		return
	}
	in.item, in.err = parsed.Item(s.Params)
}

// run writes the item if the table has none with its key. count states whether to compute the
// consumed capacity. The returned error fails the whole request; an error of the statement alone is
// in in.err.
func (in *insert) run(c *call, count bool) error {
	before, after := c.drawStatementFaults(in.name)
	from := in.table.rows.Get(in.key)
	switch {
	case before != nil:
		in.err = before
	case from.Exists():
		// A write whose condition does not hold consumes capacity too.
		in.used = capacity{table: in.name, units: writeUnits(max(from.Item.Size(), in.item.Size()))}
		in.err = &wire.Error{Code: wire.DuplicateItem, Message: "Duplicate primary key exists in table"}
	default:
		if count {
			in.used = in.table.written(item.Item{}, in.item)
		}
		if err := in.table.write(in.key, from, in.item); err != nil {
			return err
		}
	}
	if after != nil {
		in.err = after
	}
	return nil
}

// appendJSON appends the response to the statement.
func (in *insert) appendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	if in.given != "" {
		dst = item.AppendText(append(dst, `"TableName":`...), in.given)
	}
	if in.err != nil {
		if in.given != "" {
			dst = append(dst, ',')
		}
		e := wire.From(in.err)
		dst = item.AppendText(append(dst, `"Error":{"Code":`...), e.StatementCode())
		dst = item.AppendText(append(dst, `,"Message":`...), e.Message)
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

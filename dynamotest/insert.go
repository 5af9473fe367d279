package dynamotest

import (
	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/partiql"
	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// insert is one INSERT of a batch.
type insert struct {
	given string // the table as the statement names it
	name  string
	table *liveTable
	item  item.Item
	key   string
	used  capacity
	err   error // what the client is told about it
}

// read makes the item of the statement and its parameters.
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

// run writes the item, if none has its key: what PutItem does on the condition that there is none. It counts what is
// consumed if it is to. The error is one of the whole request.
func (in *insert) run(c *call, count bool) error {
	hinders, hides := c.befalls(in.name)
	from := in.table.rows.Get(in.key)
	switch {
	case hinders != nil:
		in.err = hinders
	case from.Exists():
		// Also a write whose condition does not hold is consumed.
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
	if hides != nil {
		in.err = hides
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

package partiql

import "github.com/weirhq/weir/dynamotest/internal/item"

// Insert is an INSERT of one item with places for parameters.
type Insert struct {
	table  string
	tuple  []field // ascending by name
	params int
}

// field is an attribute of a tuple.
type field struct {
	name  string
	value node
}

// node is a value with places for parameters. Without any it is a literal.
type node struct {
	literal item.Value
	param   int // from 1, 0 if it is none
	isMap   bool
	fields  []field // of a map with parameters in it
	list    []node  // of a list with parameters in it
}

// Table returns the table's name as the statement has it.
func (in *Insert) Table() string { return in.table }

// Item returns the item to insert. Its parameters are as many as the statement has question marks; other numbers, and
// parameters that make it too deep, are an item.Error.
func (in *Insert) Item(params []item.Value) (item.Item, error) {
	if len(params) != in.params {
		return item.Item{}, item.Invalid("Number of parameters in request and statement don't match.")
	}
	return fill(in.tuple, params, 0)
}

// fill returns the item of the fields inside depth lists and maps.
func fill(fields []field, params []item.Value, depth int) (item.Item, error) {
	var room [24]item.Attr
	attrs := room[:0]
	for i := range fields {
		v, err := fields[i].value.fill(params, depth)
		if err != nil {
			return item.Item{}, err
		}
		attrs = append(attrs, item.Attr{Name: fields[i].name, Value: v})
	}
	return item.Of(attrs...), nil
}

func (n *node) fill(params []item.Value, depth int) (item.Value, error) {
	switch {
	case n.param > 0:
		v := params[n.param-1]
		if depth > 0 && depth+v.Depth() >= item.MaxDepth {
			return item.Value{}, item.TooDeep()
		}
		return v, nil
	case n.literal.Exists():
		return n.literal, nil
	case n.isMap:
		it, err := fill(n.fields, params, depth+1)
		return item.Map(it), err
	default:
		values := make([]item.Value, len(n.list))
		for i := range n.list {
			v, err := n.list[i].fill(params, depth+1)
			if err != nil {
				return item.Value{}, err
			}
			values[i] = v
		}
		return item.List(values...), nil
	}
}

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

// node is a value with places for parameters, or a literal if it has none.
type node struct {
	literal item.Value
	param   int // number of the parameter, from 1; 0 if the node is not a parameter
	isMap   bool
	fields  []field // of a map that contains parameters
	list    []node  // of a list that contains parameters
}

// Table returns the table's name as in the statement.
func (in *Insert) Table() string { return in.table }

// Item returns the item to insert. It returns an item.Error if the number of params is not that of
// the question marks, or if a parameter makes the item too deep.
func (in *Insert) Item(params []item.Value) (item.Item, error) {
	if len(params) != in.params {
		return item.Item{}, item.Invalid("Number of parameters in request and statement don't match.")
	}
	return fill(in.tuple, params, 0)
}

// fill returns the item of the fields, which are inside depth lists and maps.
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

package wire

import (
	"errors"
	"strconv"

	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/jsonscan"
)

// Text is a string parameter. An absent parameter differs from an empty one.
type Text struct {
	Value string
	Given bool
}

// Number is an integer parameter that may be absent.
type Number struct {
	Value int64
	Given bool
}

// Request has the parameters of all operations on items. Absent parameters are zero. TableName is a
// name or an ARN.
type Request struct {
	TableName, IndexName Text

	Key, Item, ExclusiveStartKey  item.Item
	HasKey, HasItem, HasExclusive bool
	Names                         map[string]string
	HasNames                      bool
	Values                        item.Item
	HasValues                     bool
	Condition, Update, Projection Text
	Filter, KeyCondition          Text
	ReturnValues, OnFailure       Text
	ReturnCapacity, ReturnMetrics Text
	Select                        Text
	ConsistentRead, HasConsistent bool
	Backward                      bool // ScanIndexForward is false
	Limit, Segment, TotalSegments Number
	Gets                          []GetTable
	Writes                        []WriteTable
	RequestItems                  bool // the parameter is present
	Statements                    []Statement
	HasStatements                 bool
}

// GetTable is the keys and options of one table in a BatchGetItem.
type GetTable struct {
	Table          string
	Keys           []item.Item
	ConsistentRead bool
	Projection     Text
	Names          map[string]string
	HasNames       bool
}

// WriteTable is the writes to one table in a BatchWriteItem.
type WriteTable struct {
	Table  string
	Writes []Write
}

// Write is one put or delete of a BatchWriteItem.
type Write struct {
	Delete bool
	Item   item.Item // the item, or the key of a delete
}

// Params maps the names of the parameters that an operation supports to the functions that read
// them.
type Params map[string]func(*Request, *Reader)

// Reader reads the parameters of a request. It keeps the first error about a value, and reads on.
type Reader struct {
	jsonscan.Scanner
	items item.Decoder
	shape error  // the first error in the JSON's shape
	value *Error // the first error in a value
}

// Read reads the body of a request for the operation with that name.
func Read(operation string, params Params, body []byte) (*Request, error) {
	req := &Request{}
	r := &Reader{}
	r.Reset(body)
	r.object(func(name []byte) {
		read := params[string(name)]
		if read == nil {
			r.refuse(Unsupported("the parameter " + string(name) + " of " + operation))
			r.Skip()
			return
		}
		read(req, r)
	})
	return req, r.end()
}

func (r *Reader) end() error {
	if r.shape != nil { // the rest of the body was not read
		return r.shape
	}
	if err := r.End(); err != nil {
		return &Error{Code: Serialization, Message: err.Error()}
	}
	if r.value != nil {
		return r.value
	}
	return nil
}

func (r *Reader) refuse(e *Error) {
	if r.value == nil {
		r.value = e
	}
}

// fail keeps an error of the item decoder.
func (r *Reader) fail(err error) {
	var e *item.Error
	switch {
	case err == nil:
	case errors.As(err, &e) && e.Code == Validation:
		r.refuse(From(err))
	case r.shape == nil && r.Err() == nil:
		r.shape = From(err)
	}
}

// mismatch skips a value of the wrong type.
func (r *Reader) mismatch(want string) {
	is := map[byte]string{
		'{': "START_OBJECT", '[': "START_ARRAY", '"': "STRING_VALUE", 't': "TRUE_VALUE", 'f': "FALSE_VALUE", 'n': "NULL_VALUE",
		'0': "NUMBER_VALUE",
	}[r.Peek()]
	r.Skip()
	if r.shape == nil {
		r.shape = &Error{Code: Serialization, Message: is + " cannot be converted to " + want}
	}
}

// object calls member with the name of each member that is not null. member must read or skip the
// value.
func (r *Reader) object(member func(name []byte)) {
	if !r.Enter('{') {
		r.mismatch("Map")
		return
	}
	for r.shape == nil && r.Next('}') {
		name := r.Key()
		if r.Peek() == 'n' { // null counts as absent
			r.Skip()
			continue
		}
		member(name)
	}
}

// array calls element for each element.
func (r *Reader) array(element func()) {
	if !r.Enter('[') {
		r.mismatch("List")
		return
	}
	for r.shape == nil && r.Next(']') {
		element()
	}
}

func (r *Reader) text(t *Text) {
	if r.Peek() != '"' {
		r.mismatch("String")
		return
	}
	*t = Text{Value: string(r.Text()), Given: true}
}

func (r *Reader) flag(b *bool) {
	if c := r.Peek(); c != 't' && c != 'f' {
		r.mismatch("Boolean")
		return
	}
	*b = r.Bool()
}

func (r *Reader) number(n *Number) {
	if r.Peek() != '0' {
		r.mismatch("Integer")
		return
	}
	v, err := strconv.ParseInt(string(r.Number()), 10, 64)
	if err != nil && r.shape == nil {
		r.shape = &Error{Code: Serialization, Message: "DECIMAL_VALUE cannot be converted to Integer"}
	}
	*n = Number{Value: v, Given: true}
}

func (r *Reader) item(it *item.Item) {
	got, err := r.items.Item(&r.Scanner)
	r.fail(err)
	*it = got
}

func (r *Reader) names() map[string]string {
	names := map[string]string{}
	r.object(func(name []byte) {
		key := string(name)
		var t Text
		if r.text(&t); t.Given {
			names[key] = t.Value
		}
	})
	return names
}

package expr

import "github.com/weirhq/weir/dynamotest/internal/item"

// Names are the ExpressionAttributeNames of a request: "#n" to the attribute's name.
type Names map[string]string

// Refs are the placeholders that an expression uses, each once.
type Refs struct {
	Names  []string // "#n"
	Values []string // ":v"
}

// CheckNames checks the ExpressionAttributeNames of a request that has the parameter.
func CheckNames(names Names) error { return nil }

// CheckValues checks the names of the ExpressionAttributeValues of a request that has the parameter.
func CheckValues(values item.Item) error { return nil }

// CheckUnused returns the error for names and values that no expression of the request uses.
func CheckUnused(names Names, values item.Item, used ...Refs) error { return nil }

// Condition is a parsed condition or filter.
type Condition struct{}

// ParseCondition parses a ConditionExpression.
func ParseCondition(text string) (*Condition, error) { return nil, nil }

// ParseFilter parses a FilterExpression.
func ParseFilter(text string) (*Condition, error) { return nil, nil }

// Refs returns the placeholders used.
func (c *Condition) Refs() Refs { return Refs{} }

// Bind puts names and values in, and checks the types of operands.
func (c *Condition) Bind(names Names, values item.Item) (Test, error) { return Test{}, nil }

// Test is a condition with its names and values.
type Test struct{}

// Holds tells whether the condition is true of the item. One that is not there is the zero Item.
func (t Test) Holds(it item.Item) bool { return false }

// CheckKeys returns the error if the condition goes inside one of the key attributes named: "pk.a".
func (t Test) CheckKeys(keys ...string) error { return nil }

// CheckFilter returns the error if the condition, a query's filter, mentions one of the key attributes named.
func (t Test) CheckFilter(keys ...string) error { return nil }

// Update is a parsed UpdateExpression.
type Update struct{}

// ParseUpdate parses an UpdateExpression.
func ParseUpdate(text string) (*Update, error) { return nil, nil }

// Refs returns the placeholders used.
func (u *Update) Refs() Refs { return Refs{} }

// Bind puts names and values in, and checks types of operands and overlaps of paths.
func (u *Update) Bind(names Names, values item.Item) (Change, error) { return Change{}, nil }

// Change is an update with its names and values.
type Change struct{}

// Apply returns the item as changed. For an item that is not there yet, old is its key. It does not check the item's size.
func (c Change) Apply(old item.Item) (item.Item, error) { return item.Item{}, nil }

// CheckKeys returns the error if the update changes one of the key attributes named, or goes inside one.
func (c Change) CheckKeys(keys ...string) error { return nil }

// Touched returns the selection of the paths that the update changes: of the old item it gives ReturnValues' UPDATED_OLD,
// of the new one UPDATED_NEW.
func (c Change) Touched() Selection { return Selection{} }

// Projection is a parsed ProjectionExpression.
type Projection struct{}

// ParseProjection parses a ProjectionExpression.
func ParseProjection(text string) (*Projection, error) { return nil, nil }

// Refs returns the placeholders used.
func (p *Projection) Refs() Refs { return Refs{} }

// Bind puts names in, and checks overlaps of paths.
func (p *Projection) Bind(names Names) (Selection, error) { return Selection{}, nil }

// Selection is a projection with its names.
type Selection struct{}

// Of returns of the item what is selected.
func (s Selection) Of(it item.Item) item.Item { return it }

// CheckKeys returns the error if the selection goes inside one of the key attributes named.
func (s Selection) CheckKeys(keys ...string) error { return nil }

// KeyCondition is a parsed KeyConditionExpression.
type KeyCondition struct{}

// ParseKey parses a KeyConditionExpression.
func ParseKey(text string) (*KeyCondition, error) { return nil, nil }

// Refs returns the placeholders used.
func (k *KeyCondition) Refs() Refs { return Refs{} }

// Bind puts names and values in, and checks that it is one that keys can have.
func (k *KeyCondition) Bind(names Names, values item.Item) (Keys, error) { return Keys{}, nil }

// Keys is a key condition with its names and values.
type Keys struct{}

// KeyAttr is an attribute of a key and its kind: S, N or B.
type KeyAttr struct {
	Name string
	Kind item.Kind
}

// Range says which keys a query asks for.
type Range struct {
	Hash   item.Value // the partition key
	Lo, Hi []byte     // what item.AppendKey gives for the sort key is from Lo on and below Hi; nil is no bound
}

// Contains tells whether the sort key, as item.AppendKey gives it, is in the range.
func (r Range) Contains(key []byte) bool { return false }

// Range returns which keys are asked for in a table or index of that key. Without a sort key its name is "".
func (k Keys) Range(hash, sort KeyAttr) (Range, error) { return Range{}, nil }

package expr_test

import (
	"testing"

	"github.com/weirhq/weir/dynamotest/internal/expr"
	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/jsonscan"
)

// parse returns the item of DynamoDB's JSON.
func parse(t testing.TB, text string) item.Item {
	t.Helper()
	var d item.Decoder
	s := jsonscan.New([]byte(text))
	it, err := d.Item(s)
	if err != nil || s.End() != nil {
		t.Fatalf("%s: %v, %v", text, err, s.End())
	}
	return it
}

// condition parses and binds a condition.
func condition(text string, names expr.Names, values item.Item) (expr.Test, error) {
	c, err := expr.ParseCondition(text)
	if err != nil {
		return expr.Test{}, err
	}
	return c.Bind(names, values)
}

func update(text string, names expr.Names, values item.Item) (expr.Change, error) {
	u, err := expr.ParseUpdate(text)
	if err != nil {
		return expr.Change{}, err
	}
	return u.Bind(names, values)
}

func projection(text string, names expr.Names) (expr.Selection, error) {
	p, err := expr.ParseProjection(text)
	if err != nil {
		return expr.Selection{}, err
	}
	return p.Bind(names)
}

func key(text string, names expr.Names, values item.Item) (expr.Keys, error) {
	k, err := expr.ParseKey(text)
	if err != nil {
		return expr.Keys{}, err
	}
	b, err := k.Bind(names, values)
	if err != nil {
		return expr.Keys{}, err
	}
	return b, b.Check()
}

// bicycle is an item like those in DynamoDB's developer guide.
const bicycle = `{
	"Id": {"N": "123"}, "Title": {"S": "Bicycle 123"}, "Description": {"S": "123 description"}, "Price": {"N": "500"}, "Brand": {"S": "Acme"},
	"Color": {"SS": ["Red", "Black"]}, "InStock": {"BOOL": true}, "Quantity": {"NULL": true}, "Bytes": {"B": "aGVsbG8="},
	"Related": {"L": [{"N": "341"}, {"N": "472"}, {"N": "649"}]}, "Sizes": {"NS": ["1", "2.5"]}, "Tags": {"BS": ["AQ==", "Ag=="]},
	"Pictures": {"M": {"FrontView": {"S": "f.jpg"}, "Sides": {"L": [{"S": "l.jpg"}, {"M": {"rear": {"S": "r.jpg"}}}]}}},
	"Reviews": {"M": {"FiveStar": {"L": [{"S": "Excellent"}, {"S": "Good"}]}, "OneStar": {"L": [{"S": "Bad"}]}, "Count": {"N": "3"}}},
	"dotted.name": {"S": "dot"}, "status": {"S": "new"}
}`

const bicycleValues = `{
	":n5": {"N": "5"}, ":n500": {"N": "500.0"}, ":n600": {"N": "6e2"}, ":acme": {"S": "Acme"}, ":bi": {"S": "Bi"}, ":red": {"S": "Red"}, ":S": {"S": "S"}, ":SS": {"S": "SS"},
	":N": {"S": "N"}, ":NULL": {"S": "NULL"}, ":hell": {"B": "aGVs"}, ":t": {"BOOL": true}, ":colors": {"SS": ["Black", "Red"]}, ":x472": {"N": "472"}, ":nul": {"NULL": true},
	":n1": {"N": "1"}, ":n3": {"N": "3"}, ":list": {"L": [{"N": "341"}, {"N": "472"}, {"N": "649"}]}, ":b2": {"B": "Ag=="}, ":map": {"M": {"x": {"N": "1"}}}
}`

func bicycleNames() expr.Names {
	return expr.Names{"#s": "status", "#d": "dotted.name", "#p": "Pictures", "#f": "FrontView", "#i": "Id"}
}

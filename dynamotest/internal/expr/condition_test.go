package expr_test

import (
	"strings"
	"testing"

	"github.com/weirhq/weir/dynamotest/internal/expr"
	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/item/itemtest"
)

func TestConditionHolds(t *testing.T) {
	it, values := parse(t, bicycle), parse(t, bicycleValues)
	for _, c := range []struct {
		text string
		want bool
	}{
		{"Price = :n500", true},
		{"Price <> :n500", false},
		{"Price < :n600", true},
		{"Price <= :n500", true},
		{"Price > :n500", false},
		{"Price >= :n500", true},
		{":n600 > Price", true},
		{"Brand = :acme", true},
		{"Brand = :n5", false},   // another type is not equal
		{"Brand < :n5", false},   // and has no order
		{"Brand <> :n5", true},   // so it is unequal
		{"Nothing = :n5", false}, // a missing attribute is not equal
		{"Nothing <> :n5", true}, // so it is unequal
		{"Nothing < :n5", false}, // and has no order
		{"Nothing = Nowhere", false},
		{"Nothing <> Nowhere", true},
		{"Nothing between Nowhere and Never", false},
		{"Related < :n5", false},
		{"Color = :colors", true},
		{"Related = :list", true},
		{"InStock = :t", true},
		{"Quantity = :nul", true},
		{"Price between :n5 and :n600", true},
		{"Price between :n5 and :n5", false},
		{"Price BETWEEN :n500 AND :n500", true},
		{":n500 between :n5 and Price", true},
		{"Brand in (:n5, :acme)", true},
		{"Brand IN (:red, :n5)", false},
		{"Brand in (Title, Brand)", true},
		{"attribute_exists(Price)", true},
		{"attribute_exists(Nothing)", false},
		{"attribute_not_exists(Nothing)", true},
		{"attribute_exists(Pictures.FrontView)", true},
		{"attribute_exists(Pictures.Sides[1].rear)", true},
		{"attribute_exists(Pictures.Sides[2])", false},
		{"attribute_exists(Pictures[0])", false},
		{"attribute_exists(Related.x)", false},
		{"attribute_exists(#p.#f)", true},
		{"attribute_exists(#d)", true},
		{"attribute_type(Brand, :S)", true},
		{"attribute_type(Brand, :SS)", false},
		{"attribute_type(Color, :SS)", true},
		{"attribute_type(Nothing, :S)", false},
		{"attribute_type(Quantity, :NULL)", true},
		{"begins_with(Title, :bi)", true},
		{"begins_with(Brand, :bi)", false},
		{"begins_with(Price, :bi)", false},
		{"begins_with(Bytes, :hell)", true},
		{"begins_with(Title, :hell)", false},
		{"begins_with(:acme, Brand)", true},
		{"contains(Title, :bi)", true},
		{"contains(Title, :n5)", false},
		{"contains(Bytes, :hell)", true},
		{"contains(Color, :red)", true},
		{"contains(Color, :bi)", false},
		{"contains(Related, :x472)", true},
		{"contains(Sizes, :n1)", true},
		{"contains(Tags, :b2)", true},
		{"contains(Sizes, :red)", false},
		{"contains(Nothing, :red)", false},
		{"contains(Price, :n5)", false},
		{"contains(:colors, :red)", true},
		{"size(Brand) < :n5", true},
		{"size(Bytes) = :n5", true},
		{"size(Related) = :n3", true},
		{"size(Pictures) > :n1", true},
		{"size(Color) > :n1", true},
		{"size(Price) = :n3", false},
		{"size(Price) <> :n3", true},
		{"size(Nothing) >= :n1", false},
		{"size(Related) = size(Reviews)", true},
		{"Reviews.FiveStar[0] <> Reviews.OneStar[0]", true},
		{"NOT Price = :n500", false},
		{"NOT NOT NOT NOT Price = :n500", true},
		{"not Price = :n500 or Brand = :acme", true},
		{"not (Price = :n500 or Brand = :acme)", false},
		{"Price = :n5 and Brand = :acme or Id = :n5", false},
		{"Id = :n5 or Brand = :acme and Price = :n500", true},
		{"Id = :n5 and Brand = :acme or Price = :n500", true},
		{"Id = :n5 and (Brand = :acme or Price = :n500)", false},
		{"NOT Price = :n5 AND Brand = :red", false},
		{"Price between :n5 and :n600 and Brand = :acme", true},
		{"Price between :n5 and :n600 and Brand = :red", false},
		{"(Price) = (:n500)", true},
		{"((Pictures).FrontView) <> :n5", true},
		{"(Pictures.Sides)[0] <> :n5", true},
		{"(Price = :n500) and (Brand = :acme)", true},
		{"(attribute_exists(Price))", true},
		{"NOT(Price=:n500)AND(Brand=:acme)", false},
		{"\tPrice\r\n=  :n500 ", true},
		{":n5 = :n5", true},
		{"#s = :acme OR #i = :n5 OR NOT attribute_exists ( #s )", false},
	} {
		b, err := condition(c.text, bicycleNames(), values)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := b.Holds(it); got != c.want {
			t.Errorf("%s: %v", c.text, got)
		}
	}
}

func TestConditionOnNoItem(t *testing.T) {
	for text, want := range map[string]bool{
		"attribute_not_exists(pk)": true, "attribute_exists(pk)": false, "a = :n1": false, "a <> :n1": true, "not a = :n1": true, "size(a) > :n1": false,
	} {
		b, err := condition(text, nil, parse(t, bicycleValues))
		if err != nil || b.Holds(item.Item{}) != want {
			t.Errorf("%s: not %v, %v", text, want, err)
		}
	}
}

// TestConditionRefused lists the messages without "Invalid ConditionExpression: ".
func TestConditionRefused(t *testing.T) {
	const (
		notAllowed = "The function is not allowed to be used this way in an expression; function: "
		reserved   = "Attribute name is a reserved keyword; reserved keyword: "
		noName     = "An expression attribute name used in the document path is not defined; attribute name: "
		noValue    = "An expression attribute value used in expression is not defined; attribute value: "
		count      = "Incorrect number of operands for operator or function; operator or function: "
		kind       = "Incorrect operand type for operator or function; operator or function: "
		noPath     = "Operator or function requires a document path; operator or function: "
		distinct   = "The first operand must be distinct from the remaining operands for this operator or function; operator: "
		parens     = "The expression has redundant parentheses;"
		operands   = "lower bound operand: AttributeValue: "
	)
	values := parse(t, `{":s":{"S":"a"},":t":{"S":"b"},":n":{"N":"1"},":b":{"B":"YQ=="},":bool":{"BOOL":true},":null":{"NULL":true},":l":{"L":[]},":m":{"M":{}},":ss":{"SS":["a"]}}`)
	names := expr.Names{"#a": "a", "#3": "[3]"}
	for _, c := range []struct{ text, want string }{
		{"", "The expression can not be empty;"},
		{"a-b", `Syntax error; token: "-", near: "a-b"`},
		{"a", `Syntax error; token: "<EOF>", near: "a"`},
		{"a and b", `Syntax error; token: "and", near: "a and b"`},
		{"a > 4", `Syntax error; token: "4", near: "> 4"`},
		{"s == :s", `Syntax error; token: "=", near: "== :s"`},
		{"attribute_not_exists(", `Syntax error; token: "<EOF>", near: "("`},
		{"contains (s, :s", `Syntax error; token: "<EOF>", near: ":s"`},
		{"attribute_exists()", `Syntax error; token: ")", near: "()"`},
		{"#a attribute_not_exists :s", `Syntax error; token: "attribute_not_exists", near: "#a attribute_not_exists :s"`},
		{"(", `Syntax error; token: "<EOF>", near: "("`},
		{" ", `Syntax error; token: "<EOF>", near: ""`},
		{"a = :s)", `Syntax error; token: ")", near: ":s)"`},
		{"attribute_exists(a..b)", `Syntax error; token: ".", near: "..b"`},
		{"attribute_exists(a[b])", `Syntax error; token: "b", near: "[b]"`},
		{"attribute_exists(a[:n])", `Syntax error; token: ":n", near: "[:n]"`},
		{"attribute_exists(a[4.5])", `Syntax error; token: ".", near: "4.5"`},
		{"a in b, c", `Syntax error; token: "b", near: "in b,"`},
		{"a in (b,c,)", `Syntax error; token: ")", near: ",)"`},
		{"a > between", `Syntax error; token: "between", near: "> between"`},
		{"_a = :s", `Syntax error; token: "_", near: "_a"`},
		{"ü > a", `Syntax error; token: "ü", near: "ü >"`},
		{"a > :s.b", `Syntax error; token: ".", near: ":s.b"`},
		{"#$.b > a", `Syntax error; token: "#", near: "#$"`},
		{"size(a).b > a", `Syntax error; token: ".", near: ").b"`},
		{"(size(a))[0] > a", `Syntax error; token: "[", near: ")[0"`},
		{"(a = :s) = :s", `Syntax error; token: "=", near: ") = :s"`},
		{"a between :s or :t", `Syntax error; token: "or", near: ":s or :t"`},
		{"not a", `Syntax error; token: "<EOF>", near: "a"`},
		{"a = (b = c)", `Syntax error; token: "=", near: "b = c"`},

		{"((a = :s))", parens},
		{"a = b and a > ((views))", parens},
		{"(a)between(((b.c)).d)and(c)", parens},
		{"a > whatever((:things), ((a)))", parens},
		{"a=b AND ((a=b AND a=b)) AND a=b", parens},
		{"a=b OR ((a=b OR (a=b OR a=b)))", parens},
		{"a in ((:s))", ""},
		{"( ( size ( a )) < b.c )", ""},
		{"((a=b) AND (a=b))", ""},

		{"a=a and whatever((:things)) > a", "Invalid function name; function: whatever"},
		{"attRIbute_exIsts((views), #a)", "Invalid function name; function: attRIbute_exIsts"},

		{"a=a and attribute_exists((views), (#a)) > b", notAllowed + "attribute_exists"},
		{"(attribute_not_exists(things)) > b", notAllowed + "attribute_not_exists"},
		{"size(contains(a, b)) > a", notAllowed + "contains"},
		{"size(things)", notAllowed + "size"},
		{"a = :s and size(things)", notAllowed + "size"},
		{"not size(things)", notAllowed + "size"},
		{"a between b and attribute_exists(things)", notAllowed + "attribute_exists"},
		{"a in (b, attribute_exists(things))", notAllowed + "attribute_exists"},
		{"if_not_exists(a, :s) = :s", notAllowed + "if_not_exists"},
		{"list_append(a, :l) = :l", notAllowed + "list_append"},

		{"attribute_exists(views, #a)", reserved + "views"},
		{":a < abOrT", reserved + "abOrT"},
		{"#none = :s and data = :s", reserved + "data"},

		{"attribute_exists(#none.b, :s) and a=a", noName + "#none"},
		{"begins_with(a.#none)", noName + "#none"},
		{"a = :s and #none = :none", noName + "#none"},
		{":none = #none", noValue + ":none"},
		{"a = a and b = :none", distinct + "=, first operand: [a]"}, // the error of the first wrong condition

		{"attribute_exists(a, b) and a=a", count + "attribute_exists, number of operands: 2"},
		{"attribute_not_exists(a, b)", count + "attribute_not_exists, number of operands: 2"},
		{"attribute_type(a)", count + "attribute_type, number of operands: 1"},
		{"begins_with(a)", count + "begins_with, number of operands: 1"},
		{"begins_with(a, size(b), c)", count + "begins_with, number of operands: 3"},
		{"contains(a)", count + "contains, number of operands: 1"},
		{"size(a, b) > c", count + "size, number of operands: 2"},
		{"a in (" + strings.Repeat(":s,", 100) + ":s)", "The IN operator is provided with too many operands; number of operands: 101"},
		{"a in (" + strings.Repeat(":s,", 99) + ":s)", ""},

		{"#a = a", distinct + "=, first operand: [a]"},
		{"#a <> a", distinct + "<>, first operand: [a]"},
		{"contains(ab.bc[1].a, ab.bc[1].#a)", distinct + "contains, first operand: [ab, bc, [1], a]"},
		{"begins_with(a, #a)", distinct + "begins_with, first operand: [a]"},
		{":s = :s", ""},

		{"attribute_type(a, size(b))", kind + "attribute_type, operand type: N"},
		{"attribute_type(a, :n)", kind + "attribute_type, operand type: N"},
		{"attribute_type(a, b)", kind + "attribute_type, operand type: {NS,SS,L,BS,N,M,B,BOOL,NULL,S}"},
		{"attribute_type(a, :s)", "Invalid attribute type name found; type: a, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}"},
		{"begins_with(a, :n)", kind + "begins_with, operand type: N"},
		{"begins_with(a, size(b))", kind + "begins_with, operand type: N"},
		{"begins_with(:ss, a)", kind + "begins_with, operand type: SS"},
		{"begins_with(a, :b)", ""},
		{"size(size(a)) > :n", kind + "size, operand type: N"},
		{"size(:bool) > a", kind + "size, operand type: BOOL"},
		{"size(:null) > a", kind + "size, operand type: NULL"},
		{"size(:l) > a", ""},
		{"attribute_exists(:s) and a=a", noPath + "attribute_exists"},
		{"attribute_not_exists(size(:l))", noPath + "attribute_not_exists"},
		{"a < :l", kind + "<, operand type: L"},
		{":m <= a", kind + "<=, operand type: M"},
		{"a > :bool", kind + ">, operand type: BOOL"},
		{"a >= :ss", kind + ">=, operand type: SS"},
		{"a between :null and :s", kind + "BETWEEN, operand type: NULL"},
		{"a = :l", ""},
		{"a between :n and :s", "The BETWEEN operator requires same data type for lower and upper bounds; " + operands + "{N:1}, upper bound operand: AttributeValue: {S:a}"},
		{"a between :t and :s", "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; " + operands + "{S:b}, upper bound operand: AttributeValue: {S:a}"},
		{"a between :b and :n", "The BETWEEN operator requires same data type for lower and upper bounds; " + operands + "{B:YQ==}, upper bound operand: AttributeValue: {N:1}"},

		{"a" + strings.Repeat(".a", 31) + " = :s", ""},
		{"a" + strings.Repeat(".a", 32) + " = :s", "The document path has too many nesting elements; nesting elements: 33"},
		{"a[99999999999999999999] = :s", "List index is not within the allowable range; index: [99999999999999999999]"},
		{"a<b " + strings.Repeat("or (a<b ", 149) + strings.Repeat(")", 149), ""}, // 299 operators
		{"a<b " + strings.Repeat("or (a<b ", 150) + strings.Repeat(")", 150), "The expression contains too many operators; operator count: 301"},
		{"a = :s" + strings.Repeat(" ", 4090), ""},
		{"a = :s" + strings.Repeat(" ", 4091), "Expression size has exceeded the maximum allowed size; expression size: 4097"},
	} {
		want := c.want
		if want != "" {
			want = "Invalid ConditionExpression: " + want
		}
		if _, err := condition(c.text, names, values); itemtest.Message(t, err) != want {
			t.Errorf("%.200s\ngot  %v\nwant %s", c.text, err, want)
		}
	}
	for text, parse := range map[string]func(string) error{
		"Filter":       func(s string) error { _, err := expr.ParseFilter(s); return err },
		"KeyCondition": func(s string) error { _, err := expr.ParseKey(s); return err },
		"Update":       func(s string) error { _, err := expr.ParseUpdate(s); return err },
		"Projection":   func(s string) error { _, err := expr.ParseProjection(s); return err },
	} {
		if got, want := itemtest.Message(t, parse("")), "Invalid "+text+"Expression: The expression can not be empty;"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if got, want := itemtest.Message(t, parse("a !")), "Invalid "+text+"Expression: Syntax error; token: "; !strings.HasPrefix(got, want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestConditionOnKeys(t *testing.T) {
	b, err := condition("pk.a = :n1 and attribute_exists(sk) and size(third[0]) > :n1", nil, parse(t, bicycleValues))
	if err != nil {
		t.Fatal(err)
	}
	const scalars = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "
	for i, c := range []struct {
		err  error
		want string
	}{
		{b.CheckScalars("Key", "pk", "sk"), scalars + "Key: pk"},
		{b.CheckScalars("Key", "sk", "id"), ""},
		{b.CheckScalars("IndexKey", "third"), scalars + "IndexKey: third"},
		{b.CheckFilter("id", "sk"), "Filter Expression can only contain non-primary key attributes: Primary key attribute: sk"},
		{b.CheckFilter("id", "range"), ""},
	} {
		if got := itemtest.Message(t, c.err); got != c.want {
			t.Errorf("%d\ngot  %s\nwant %s", i, got, c.want)
		}
	}
}

func TestPlaceholders(t *testing.T) {
	c, err := expr.ParseCondition("#b = :b and (#a.#b < :a or begins_with(#a, :b))")
	if err != nil {
		t.Fatal(err)
	}
	u, err := expr.ParseUpdate("set #u = if_not_exists(#b, :u) add n :a")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(append(c.Refs().Names, c.Refs().Values...), " "); got != "#b #a :b :a" {
		t.Errorf("it uses %s", got)
	}
	values := parse(t, `{":a":{"S":"x"},":b":{"S":"x"},":u":{"S":"x"}}`)
	more := values.With(":z", item.Null()).With(":y", item.Null())
	const unused = "Value provided in ExpressionAttribute"
	for i, c := range []struct {
		err  error
		want string
	}{
		{expr.CheckUnused(expr.Names{"#a": "a", "#b": "b", "#u": "u"}, values, c.Refs(), u.Refs()), ""},
		{expr.CheckUnused(expr.Names{"#a": "a", "#c": "b", "#0": "u"}, more, c.Refs(), u.Refs()), unused + "Names unused in expressions: keys: {#0, #c}"},
		{expr.CheckUnused(expr.Names{"#a": "a"}, more, c.Refs(), u.Refs()), unused + "Values unused in expressions: keys: {:y, :z}"},
		{expr.CheckUnused(nil, values, c.Refs()), unused + "Values unused in expressions: keys: {:u}"},
		{expr.CheckUnused(nil, item.Item{}), ""},
		{expr.CheckNames(expr.Names{}), "ExpressionAttributeNames must not be empty"},
		{expr.CheckNames(expr.Names{"#a": "x", "#b_9": "y"}), ""},
		{expr.CheckNames(expr.Names{"#a": "x", "b": "y", "a": "z"}), `ExpressionAttributeNames contains invalid key: Syntax error; key: "a"`},
		{expr.CheckNames(expr.Names{"#": "x"}), `ExpressionAttributeNames contains invalid key: Syntax error; key: "#"`},
		{expr.CheckNames(expr.Names{"#a-b": "x"}), `ExpressionAttributeNames contains invalid key: Syntax error; key: "#a-b"`},
		{expr.CheckValues(item.Item{}), "ExpressionAttributeValues must not be empty"},
		{expr.CheckValues(values), ""},
		{expr.CheckValues(values.With("a", item.Null())), `ExpressionAttributeValues contains invalid key: Syntax error; key: "a"`},
	} {
		if got := itemtest.Message(t, c.err); got != c.want {
			t.Errorf("%d\ngot  %s\nwant %s", i, got, c.want)
		}
	}
}

func TestReservedWords(t *testing.T) {
	for _, word := range []string{"ABORT", "abort", "Name", "status", "timestamp", "LOCALTIMESTAMP", "TTL", "zone", "Key", "VALUES", "region", "user"} {
		if _, err := expr.ParseProjection(word); itemtest.Message(t, err) != "Invalid ProjectionExpression: Attribute name is a reserved keyword; reserved keyword: "+word {
			t.Errorf("%s: %v", word, err)
		}
	}
	for _, word := range []string{"pk", "sk", "id", "version", "pool_id", "lease_expires", "resource_id", "NAMEX", "abort_", "x", "LOCALTIMESTAMPS"} {
		if _, err := expr.ParseProjection(word); err != nil {
			t.Errorf("%s: %v", word, err)
		}
	}
}

package expr_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/dynamotest/internal/expr"
	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/item/itemtest"
)

func TestKeyRefused(t *testing.T) {
	const (
		operator = "Invalid operator used in KeyConditionExpression: "
		first    = " operator must have the key attribute as its first operand"
		nested   = "KeyConditionExpressions cannot contain nested operations"
		inside   = "KeyConditionExpressions cannot have conditions on nested attributes"
		several  = "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"
		none     = "Invalid condition in KeyConditionExpression: No key attribute specified"
		twice    = "KeyConditionExpressions must only contain one condition per key"
	)
	values := parse(t, `{":a":{"S":"S"},":b":{"S":"a"},":n":{"N":"1"}}`)
	for _, c := range []struct{ text, want string }{
		{"a > b and size(b) > c or a > c", operator + "OR"},
		{"a in (b, size(c), d)", operator + "IN"},
		{"attribute_exists(a)", operator + "attribute_exists"},
		{"attribute_not_exists(a)", operator + "attribute_not_exists"},
		{"attribute_type(a, :a)", operator + "attribute_type"},
		{"contains(a.d, b)", operator + "contains"},
		{"not a > b", operator + "NOT"},
		{"a <> b", operator + "<>"},
		{":a between size(b) and size(a) and b > :b", "Invalid condition in KeyConditionExpression: BETWEEN" + first},
		{"begins_with(:a, b) and a > :b", "Invalid condition in KeyConditionExpression: begins_with" + first},
		{"size(b) > a AND a.b > b AND b > c", nested},
		{"a > size(b.d)", nested},
		{"a between size(b) and size(a)", nested},
		{"b > a.b", several},
		{"b between c[1] and d", several},
		{"begins_with(a, b)", several},
		{"b.d > a AND c.d > e.f", inside},
		{"b[0] > a", inside},
		{":b > :a AND a < :b", none},
		{"b > :a AND b < :a and c = :a and d = :a", twice},
		{"(a > :a and b > :a) and (b > :a and c > :a)", twice},
		{"a = :a and b = :a and c = :a", "Conditions can be of length 1 or 2 only"},
		{"a = :none", "Invalid KeyConditionExpression: An expression attribute value used in expression is not defined; attribute value: :none"},
		{"a between :n and :a", "Invalid KeyConditionExpression: The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: AttributeValue: {N:1}, upper bound operand: AttributeValue: {S:S}"},
		{"a = :a and b between :b and :b", ""},
		{":a = a and begins_with(b, :b)", ""},
	} {
		if _, err := key(c.text, nil, values); itemtest.Message(t, err) != c.want {
			t.Errorf("%s\ngot  %v\nwant %s", c.text, err, c.want)
		}
	}
}

func TestKeyOfTable(t *testing.T) {
	const wrong = "One or more parameter values were invalid: Condition parameter type does not match schema type"
	hash, sort := expr.KeyAttr{Name: "pk", Kind: item.S}, expr.KeyAttr{Name: "sk", Kind: item.N}
	values := parse(t, `{":s":{"S":"x"},":n":{"N":"1"}}`)
	for _, c := range []struct {
		text string
		sort expr.KeyAttr
		want string
	}{
		{"pk = :s", sort, ""},
		{"pk = :s", expr.KeyAttr{}, ""},
		{"sk > :n and :s = pk", sort, ""},
		{"pk = :n", sort, wrong},
		{"pk = :s and sk = :s", sort, wrong},
		{"pk = :s and begins_with(sk, :s)", sort, wrong},
		{"pk > :s", sort, "Query key condition not supported"},
		{"begins_with(pk, :s)", sort, "Query key condition not supported"},
		{"sk = :n", sort, "Query condition missed key schema element: pk"},
		{"pk = :s and x = :n", sort, "Query condition missed key schema element: sk"},
		{"pk = :s and sk = :n", expr.KeyAttr{}, "Query key condition not supported"},
		{"x = :s", expr.KeyAttr{}, "Query condition missed key schema element: pk"},
	} {
		k, err := key(c.text, nil, values)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		r, err := k.Range(hash, c.sort)
		if itemtest.Message(t, err) != c.want {
			t.Errorf("%s\ngot  %v\nwant %s", c.text, err, c.want)
		}
		if err == nil && r.Hash != item.Str("x") {
			t.Errorf("%s: the partition is %s", c.text, r.Hash)
		}
	}
	bad, err := expr.ParseKey("pk <> :s")
	if err != nil {
		t.Fatal(err)
	}
	k, err := bad.Bind(nil, values)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Range(hash, sort); itemtest.Message(t, err) != "Invalid operator used in KeyConditionExpression: <>" {
		t.Error(err)
	}
}

// TestRangeIsTheCondition: a sort key is in the range if and only if the same text, as a condition,
// holds for its item.
func TestRangeIsTheCondition(t *testing.T) {
	met := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]item.Kind{item.S, item.N, item.B}).Draw(t, "kind")
		texts := []string{"sk = :x", "sk < :x", "sk <= :x", "sk > :x", "sk >= :x", ":x = sk", ":x < sk", ":x <= sk", ":x > sk", ":x >= sk", "sk between :x and :y"}
		if kind != item.N {
			texts = append(texts, "begins_with(sk, :x)", "begins_with(sk, :x)")
		}
		text := rapid.SampledFrom(texts).Draw(t, "text")
		g := itemtest.OfKind(kind)
		if kind == item.B && rapid.Bool().Draw(t, "ends") {
			g = rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 0xfe, 0xff}), 0, 3), func(b []byte) item.Value { return item.Bin(string(b)) })
		}
		x, y := g.Draw(t, "x"), g.Draw(t, "y")
		if order, _ := item.Compare(x, y); order > 0 {
			x, y = y, x
		}
		values := item.Of(item.Attr{Name: ":p", Value: item.Str("p")}, item.Attr{Name: ":x", Value: x}, item.Attr{Name: ":y", Value: y})
		k, err := key("pk = :p and "+text, nil, values)
		if err != nil {
			t.Fatal(err)
		}
		r, err := k.Range(expr.KeyAttr{Name: "pk", Kind: item.S}, expr.KeyAttr{Name: "sk", Kind: kind})
		if err != nil {
			t.Fatal(err)
		}
		test, err := condition(text, nil, values)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range append(rapid.SliceOfN(g, 1, 5).Draw(t, "keys"), x, y) {
			got, want := r.Contains(item.AppendKey(nil, v)), test.Holds(item.Item{}.With("sk", v))
			if met[got]++; got != want {
				t.Fatalf("%s, x %s, y %s: %s is in the range: %v", text, x, y, v, got)
			}
		}
	})
	if met[true] == 0 || met[false] == 0 {
		t.Errorf("inside and outside: %v", met)
	}
}

func TestKeyRefs(t *testing.T) {
	k, err := expr.ParseKey("#p = :p and sk < :s")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(append(k.Refs().Names, k.Refs().Values...), " "); got != "#p :p :s" {
		t.Error(got)
	}
}

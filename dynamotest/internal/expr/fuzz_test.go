package expr_test

import (
	"testing"

	"github.com/weirhq/weir/dynamotest/internal/expr"
	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/item/itemtest"
)

// define defines each placeholder as a name or a value. choice selects among them.
func define(t *testing.T, refs expr.Refs, choice uint) (expr.Names, item.Item) {
	names, attrs := expr.Names{}, []item.Attr(nil)
	for i, n := range refs.Names {
		names[n] = []string{"Related", "Pictures", "Price", "status"}[(uint(i)+choice)%4]
	}
	var values []item.Value
	for _, v := range parse(t, bicycleValues).All() {
		values = append(values, v)
	}
	for i, v := range refs.Values {
		attrs = append(attrs, item.Attr{Name: v, Value: values[(uint(i)*7+choice)%uint(len(values))]})
	}
	return names, item.Of(attrs...)
}

// FuzzCondition: no text panics, each rejection is a validation error, and an accepted condition
// can be evaluated.
func FuzzCondition(f *testing.F) {
	for _, seed := range []string{
		"Price = :n and (not attribute_exists(#a.b[0]) or size(#b) <= :m)", "a between :x and :y", "a in (:x, b, size(c))", "begins_with(a, :x)",
		"attribute_type(a, :t)", "((a = :x))", "contains(a, a)", "a = ", "(", "#", "NOT NOT a < :b",
	} {
		f.Add(seed, uint(3))
	}
	f.Fuzz(func(t *testing.T, text string, choice uint) {
		c, err := expr.ParseCondition(text)
		if err == nil {
			names, values := define(t, c.Refs(), choice)
			var b expr.Test
			if b, err = c.Bind(names, values); err == nil {
				if expr.CheckUnused(names, values, c.Refs()) != nil {
					t.Fatal("CheckUnused reports placeholders that the condition uses")
				}
				opposite, err := condition("NOT ("+text+")", names, values)
				if err == nil && opposite.Holds(parse(t, bicycle)) == b.Holds(parse(t, bicycle)) {
					t.Fatalf("%q and its negation have the same result", text)
				}
				b.Holds(item.Item{})
				_, _ = b.CheckFilter("Price"), b.CheckScalars("Key", "Price")
			}
		}
		itemtest.Message(t, err)
	})
}

// FuzzUpdate: no text panics, and an applied update gives an item whose JSON can be decoded.
func FuzzUpdate(f *testing.F) {
	for _, seed := range []string{
		"SET a = :x, b.c[1] = if_not_exists(#d, :y) + :z REMOVE e[0], e[3] ADD f :n DELETE g :s", "SET #l[7] = list_append(Related, :l), #l[8] = :x REMOVE #l[0]",
		"add Color :c", "set a = b - ", "remove Pictures.Sides[1].rear, Pictures.Sides[0]", "set a = (b + :c)",
	} {
		f.Add(seed, uint(3))
	}
	f.Fuzz(func(t *testing.T, text string, choice uint) {
		u, err := expr.ParseUpdate(text)
		if err == nil {
			names, values := define(t, u.Refs(), choice)
			var b expr.Change
			if b, err = u.Bind(names, values); err == nil {
				for _, old := range []item.Item{parse(t, bicycle), {}} {
					var after item.Item
					if after, err = b.Apply(old, item.Item{}.With("pk", item.Str("k"))); err == nil {
						if parse(t, after.String()) != after || b.Touched().Of(after).Size() > after.Size() {
							t.Fatalf("%q made %s", text, after)
						}
					}
					itemtest.Message(t, err)
				}
				_, _ = b.CheckKeys("Price"), b.CheckScalars("Key", "Price")
			}
		}
		itemtest.Message(t, err)
	})
}

// FuzzProjection: no text panics, and the selected part is no larger than the item.
func FuzzProjection(f *testing.F) {
	for _, seed := range []string{"a, b.c[1], #d", "Pictures.Sides[1].rear, Pictures.Sides[0], Related[2]", "a,,", "a[1", "a, a"} {
		f.Add(seed, uint(3))
	}
	f.Fuzz(func(t *testing.T, text string, choice uint) {
		p, err := expr.ParseProjection(text)
		if err == nil {
			names, _ := define(t, p.Refs(), choice)
			var s expr.Selection
			if s, err = p.Bind(names); err == nil {
				if part := s.Of(parse(t, bicycle)); part.Size() > parse(t, bicycle).Size() || parse(t, part.String()) != part {
					t.Fatalf("%q gave %s", text, part)
				}
			}
		}
		itemtest.Message(t, err)
	})
}

// FuzzKey: no text panics, and an accepted key condition is true for the keys in its range.
func FuzzKey(f *testing.F) {
	for _, seed := range []string{"Id = :a and Price > :b", "Id = :a and :b between :c and Price", "begins_with(Id, :a)", "Id = :a or b = :c", "size(a) = :n", "Id = :a"} {
		f.Add(seed, uint(3))
	}
	f.Fuzz(func(t *testing.T, text string, choice uint) {
		k, err := expr.ParseKey(text)
		if err == nil {
			names, values := define(t, k.Refs(), choice)
			var b expr.Keys
			if b, err = k.Bind(names, values); err == nil {
				var r expr.Range
				if r, err = b.Range(expr.KeyAttr{Name: "Id", Kind: item.N}, expr.KeyAttr{Name: "Price", Kind: item.N}); err == nil {
					test, err := condition(text, names, values)
					if err != nil {
						t.Fatal(err)
					}
					for _, price := range []int64{-1, 0, 1, 4, 5, 6, 499, 500, 501, 600, 601} {
						it := item.Of(item.Attr{Name: "Id", Value: r.Hash}, item.Attr{Name: "Price", Value: item.Int(price)})
						if got := r.Contains(item.AppendKey(nil, item.Int(price))); got != test.Holds(it) {
							t.Fatalf("%q %s: %d is in the range: %v", text, values, price, got)
						}
					}
				}
			}
		}
		itemtest.Message(t, err)
	})
}

// Package itemtest draws values and items for property tests.
//
//	rapid ─▶ Number, Text, Scalar, Value(depth), Item(depth) ─▶ the property
//
// The values are small and often equal: few names, few elements, numbers close to each other and at
// the ends of the range. All of them are valid in DynamoDB, except that an item may exceed the size
// limit.
package itemtest

import (
	"errors"
	"strings"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/dynamotest/internal/item"
)

// Number draws the text of a number in the range, in any form that DynamoDB's JSON permits.
func Number() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`-?[0-9]{1,3}`),
		rapid.StringMatching(`[+-]?0{0,3}[0-9]{1,18}\.[0-9]{0,19}`),
		rapid.StringMatching(`-?[1-9]\.[0-9]{0,36}[eE][+-]?[0-9]{1,2}`),
		rapid.SampledFrom([]string{
			"0", "-0", "0.0e9", "1E-130", "-1E-130", "9.9999999999999999999999999999999999999E+125",
			"-9.9999999999999999999999999999999999999E+125", "1E125", "99999999999999999999999999999999999999", "0.5", "-.5", "5.",
		}),
	)
}

// Text draws a short string, with characters that JSON escapes and characters of all lengths in
// UTF-8.
func Text() *rapid.Generator[string] {
	return rapid.StringOfN(rapid.RuneFrom([]rune("ab\x00\x01\"\\\n/é€\u2028🙂")), 0, 6, -1)
}

// Name draws one of a few names of attributes.
func Name() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"a", "b", "c", "d", "pk", "long name with spaces", "é.x[1]", "#n", ":v"})
}

// Scalar draws an S, N or B.
func Scalar() *rapid.Generator[item.Value] {
	return rapid.Custom(func(t *rapid.T) item.Value {
		return OfKind(item.S+item.Kind(rapid.IntRange(0, 2).Draw(t, "kind"))).Draw(t, "scalar")
	})
}

// OfKind draws a value of the kind, which must be S, N or B.
func OfKind(kind item.Kind) *rapid.Generator[item.Value] {
	return rapid.Custom(func(t *rapid.T) item.Value {
		switch kind {
		case item.S:
			return item.Str(Text().Draw(t, "s"))
		case item.B:
			return item.Bin(string(rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "b")))
		default:
			text := Number().Draw(t, "n")
			v, err := item.Num(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			return v
		}
	})
}

// Set draws a set.
func Set() *rapid.Generator[item.Value] {
	return rapid.Custom(func(t *rapid.T) item.Value {
		kind := item.S + item.Kind(rapid.IntRange(0, 2).Draw(t, "kind"))
		v, ok := item.Set(rapid.SliceOfN(OfKind(kind), 1, 5).Draw(t, "elements")...)
		if !ok {
			t.Fatal("Set returned no set")
		}
		return v
	})
}

// Value draws a value of any kind with at most depth nested lists and maps.
func Value(depth int) *rapid.Generator[item.Value] {
	return rapid.Custom(func(t *rapid.T) item.Value {
		last := 5
		if depth > 0 {
			last = 7
		}
		switch rapid.IntRange(0, last).Draw(t, "what") {
		case 0:
			return item.Bool(rapid.Bool().Draw(t, "bool"))
		case 1:
			return item.Null()
		case 2:
			return Set().Draw(t, "set")
		case 6:
			return item.List(rapid.SliceOfN(Value(depth-1), 0, 4).Draw(t, "list")...)
		case 7:
			return item.Map(Item(depth-1).Draw(t, "map"))
		default:
			return Scalar().Draw(t, "scalar")
		}
	})
}

// Item draws an item whose values have at most depth nested lists and maps.
func Item(depth int) *rapid.Generator[item.Item] {
	return rapid.Custom(func(t *rapid.T) item.Item {
		var attrs []item.Attr
		for _, name := range rapid.SliceOfNDistinct(Name(), 0, 5, rapid.ID[string]).Draw(t, "names") {
			attrs = append(attrs, item.Attr{Name: name, Value: Value(depth).Draw(t, strings.ToValidUTF8(name, ""))})
		}
		return item.Of(attrs...)
	})
}

// Message returns the message of a validation error, "" for nil. Another error fails the test.
func Message(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, err error,
) string {
	t.Helper()
	var e *item.Error
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &e) || e.Code != item.Validation:
		t.Fatalf("%v is not a validation error", err)
	}
	return e.Message
}

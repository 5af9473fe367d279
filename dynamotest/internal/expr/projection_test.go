package expr_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/dynamotest/internal/expr"
	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/item/itemtest"
)

func TestProjection(t *testing.T) {
	it := parse(t, bicycle)
	for _, c := range []struct{ text, want string }{
		{"Price", `{"Price":{"N":"500"}}`},
		{"Price, Brand,Id", `{"Brand":{"S":"Acme"},"Id":{"N":"123"},"Price":{"N":"500"}}`},
		{"#d, #s", `{"dotted.name":{"S":"dot"},"status":{"S":"new"}}`},
		{"Nothing", `{}`},
		{"Nothing, Price.x, Brand[0], Pictures.Nothing, Related[9]", `{}`},
		{"Related[0]", `{"Related":{"L":[{"N":"341"}]}}`},
		{"Related[2], Related[0]", `{"Related":{"L":[{"N":"341"},{"N":"649"}]}}`},
		{"Reviews.FiveStar", `{"Reviews":{"M":{"FiveStar":{"L":[{"S":"Excellent"},{"S":"Good"}]}}}}`},
		{"Reviews.FiveStar[1], Reviews.OneStar", `{"Reviews":{"M":{"FiveStar":{"L":[{"S":"Good"}]},"OneStar":{"L":[{"S":"Bad"}]}}}}`},
		{"#p.Sides[1].rear, Id, #p.#f", `{"Id":{"N":"123"},"Pictures":{"M":{"FrontView":{"S":"f.jpg"},"Sides":{"L":[{"M":{"rear":{"S":"r.jpg"}}}]}}}}`},
		{"Pictures.Sides[0].x, Pictures.Sides[1].rear", `{"Pictures":{"M":{"Sides":{"L":[{"M":{"rear":{"S":"r.jpg"}}}]}}}}`},
	} {
		s, err := projection(c.text, bicycleNames())
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := s.Of(it).String(); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.text, got, c.want)
		}
	}
}

// TestProjectionRefused lists the messages without "Invalid ProjectionExpression: ".
func TestProjectionRefused(t *testing.T) {
	const rewrite = "; must remove or rewrite one of these paths; path one: "
	for _, c := range []struct{ text, want string }{
		{"a, a", "Two document paths overlap with each other" + rewrite + "[a], path two: [a]"},
		{"a.b, x, a", "Two document paths overlap with each other" + rewrite + "[a, b], path two: [a]"},
		{"a[1], #a[1].c", "Two document paths overlap with each other" + rewrite + "[a, [1]], path two: [a, [1], c]"},
		{"a.b, a[1]", "Two document paths conflict with each other" + rewrite + "[a, b], path two: [a, [1]]"},
		{"a, #none", "An expression attribute name used in the document path is not defined; attribute name: #none"},
		{"a, status", "Attribute name is a reserved keyword; reserved keyword: status"},
		{"a,", `Syntax error; token: "<EOF>", near: ","`},
		{"a b", `Syntax error; token: "b", near: "a b"`},
		{":v", `Syntax error; token: ":v", near: ":v"`},
		{"a, !!! b", `Syntax error; token: "!", near: ", !!"`},
		{"(a)", `Syntax error; token: "(", near: "(a"`},
		{"size(a)", `Syntax error; token: "(", near: "size(a"`},
	} {
		_, err := projection(c.text, expr.Names{"#a": "a"})
		if got, want := itemtest.Message(t, err), "Invalid ProjectionExpression: "+c.want; got != want {
			t.Errorf("%s\ngot  %s\nwant %s", c.text, got, want)
		}
	}
	s, err := projection("pk.x, sk, a[0]", nil)
	if err != nil {
		t.Fatal(err)
	}
	const scalars = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "
	if got := itemtest.Message(t, s.CheckScalars("Key", "sk", "pk")); got != scalars+"Key: pk" {
		t.Error(got)
	}
	if err := s.CheckScalars("Key", "sk"); err != nil {
		t.Error(err)
	}
}

// TestProjectionKeepsWhatIsSelected: each path of maps has the same value in the part as in the
// item, and the part has no other values.
func TestProjectionKeepsWhatIsSelected(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		it, names := itemtest.Item(3).Draw(t, "item"), expr.Names{}
		var places []modelPath
		text := ""
		for i := range rapid.IntRange(1, 4).Draw(t, "paths") {
			p := drawPath(t, it)
			if places = append(places, p); i > 0 {
				text += ", "
			}
			text += p.text(names)
		}
		s, err := projection(text, names)
		if err != nil {
			return // the paths overlap
		}
		part := s.Of(it)
		want := 0
		for _, p := range places {
			v, indexed := p.of(item.Map(it)), false
			for _, step := range p {
				_, index := step.(int)
				indexed = indexed || index
			}
			if got := p.of(item.Map(part)); !indexed && got != v {
				t.Fatalf("%s of %s: %v is %s", text, it, p, got)
			}
			want += leaves(v)
		}
		if got := leaves(item.Map(part)); got != want && part.Len() > 0 {
			t.Fatalf("%s of %s has %d values, not %d: %s", text, it, got, want, part)
		}
	})
}

// leaves counts the scalars and sets in a value.
func leaves(v item.Value) int {
	n := 0
	switch {
	case v.Kind() == item.M && v.Item().Len() > 0:
		for _, e := range v.Item().All() {
			n += leaves(e)
		}
		return n
	case v.Kind() == item.L && v.Len() > 0:
		for e := range v.Elements() {
			n += leaves(e)
		}
		return n
	case v.Exists():
		return 1
	default:
		return 0
	}
}

package item_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/item/itemtest"
)

func TestKindNames(t *testing.T) {
	for k := item.S; k <= item.BS; k++ {
		if got := item.ParseKind(k.String()); got != k {
			t.Errorf("kind %d is %q, which is %d", k, k, got)
		}
	}
	if item.Missing.String() != "" || item.ParseKind("X") != item.Missing || item.ParseKind("") != item.Missing {
		t.Error("Missing has a name")
	}
	for k, want := range map[item.Kind]item.Kind{item.SS: item.S, item.NS: item.N, item.BS: item.B, item.L: item.Missing, item.S: item.Missing} {
		if got := k.Element(); got != want {
			t.Errorf("elements of %s are %s", k, got)
		}
	}
}

func TestMissing(t *testing.T) {
	var v item.Value
	if v.Exists() || v.Kind() != item.Missing || v.Text() != "" || v.True() || v.Len() != -1 || v.Size() != 0 || v.Depth() != 0 ||
		v.Index(0).Exists() || v.Item().Len() != 0 || v.Contains(v) || v.String() != "null" {
		t.Error("the zero Value exists")
	}
	if _, ok := item.Compare(v, v); ok {
		t.Error("the zero Value can be compared")
	}
}

func TestLenIsSize(t *testing.T) {
	it := parse(t, `{"s":{"S":"aé🙂"},"b":{"B":"AAAA"},"l":{"L":[{"S":"x"},{"S":"y"}]},"m":{"M":{"x":{"N":"1"}}},"ss":{"SS":["a","b","c"]},"n":{"N":"5"},"t":{"BOOL":true},"0":{"NULL":true}}`)
	for name, want := range map[string]int{"s": 4, "b": 3, "l": 2, "m": 1, "ss": 3, "n": -1, "t": -1, "0": -1} {
		if got := it.Get(name).Len(); got != want {
			t.Errorf("%s: %d, not %d", name, got, want)
		}
	}
}

func TestSetRefuses(t *testing.T) {
	for _, elements := range [][]item.Value{{}, {item.Null()}, {item.Str("a"), item.Int(1)}, {item.Str("a"), {}}} {
		if v, ok := item.Set(elements...); ok {
			t.Errorf("%v gave %s", elements, v)
		}
	}
}

func TestSetOperations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := item.S + item.Kind(rapid.IntRange(0, 2).Draw(t, "kind"))
		elements := rapid.SliceOfN(itemtest.OfKind(kind), 1, 6)
		x, y := elements.Draw(t, "x"), elements.Draw(t, "y")
		a, _ := item.Set(x...)
		b, _ := item.Set(y...)
		both, rest := map[item.Value]bool{}, map[item.Value]bool{}
		for _, e := range x {
			both[e], rest[e] = true, true
		}
		for _, e := range y {
			both[e] = true
			delete(rest, e)
		}
		want, _ := item.Set(slices.Collect(maps.Keys(both))...)
		if got := item.Union(a, b); got != want || got != item.Union(b, a) {
			t.Fatalf("%s and %s gave %s", a, b, got)
		}
		want, _ = item.Set(slices.Collect(maps.Keys(rest))...) // Missing if empty
		if got := item.Minus(a, b); got != want {
			t.Fatalf("%s without %s gave %s", a, b, got)
		}
	})
}

func TestCompare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := itemtest.Value(1).Draw(t, "x"), itemtest.Value(1).Draw(t, "y")
		order, ok := item.Compare(x, y)
		if want := x.Kind() == y.Kind() && x.Kind() <= item.B; ok != want {
			t.Fatalf("%s against %s: %v", x, y, ok)
		}
		if x.Kind() != item.N && ok && order != strings.Compare(x.Text(), y.Text()) {
			t.Fatalf("%s against %s: %d", x, y, order)
		}
	})
}

// TestItemIsAMap applies the same operations to an Item and to a Go map.
func TestItemIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var it item.Item
		model := map[string]item.Value{}
		for range rapid.IntRange(0, 12).Draw(t, "steps") {
			name := itemtest.Name().Draw(t, "name")
			if rapid.IntRange(0, 3).Draw(t, "what") == 0 {
				it = it.With(name, item.Value{})
				delete(model, name)
			} else {
				v := itemtest.Value(1).Draw(t, "value")
				it = it.With(name, v)
				model[name] = v
			}
		}
		if !maps.Equal(maps.Collect(it.All()), model) || it.Len() != len(model) {
			t.Fatalf("%s is not %v", it, model)
		}
		var attrs []item.Attr
		for name, v := range model {
			attrs = append(attrs, item.Attr{Name: name}, item.Attr{Name: name, Value: v}, item.Attr{Name: "gone", Value: v}, item.Attr{Name: "gone"})
		}
		if got := item.Of(attrs...); got != it {
			t.Fatalf("%s is not %s", got, it)
		}
		names := rapid.SliceOfN(itemtest.Name(), 0, 3).Draw(t, "only")
		for name, v := range it.Only(names...).All() {
			if !slices.Contains(names, name) || model[name] != v {
				t.Fatalf("only %v of %s has %s", names, it, name)
			}
		}
		for _, name := range names {
			if it.Get(name) != model[name] || it.Only(names...).Get(name) != model[name] {
				t.Fatalf("%s of %s", name, it)
			}
		}
		if it.Clone() != it || item.Map(it).Item() != it || item.Map(it).Clone() != item.Map(it) {
			t.Fatal("a copy differs")
		}
	})
}

func TestListsAreSlices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(itemtest.Value(1), 0, 5).Draw(t, "values")
		l := item.List(values...)
		if got := slices.Collect(l.Elements()); !slices.Equal(got, values) || l.Len() != len(values) {
			t.Fatalf("%s is not %v", l, values)
		}
		for i, v := range values {
			if l.Index(i) != v || !l.Contains(v) {
				t.Fatalf("element %d of %s", i, l)
			}
		}
		if l.Index(len(values)).Exists() {
			t.Fatal("the iterator has more elements than the list")
		}
		deepest := -1
		for _, v := range values {
			deepest = max(deepest, v.Depth())
		}
		if l.Depth() != deepest+1 {
			t.Fatalf("%s is %d deep", l, l.Depth())
		}
	})
}

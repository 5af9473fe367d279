package item_test

import (
	"bytes"
	"cmp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/item/itemtest"
)

func TestKeysSortAsValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := itemtest.OfKind(item.S + item.Kind(rapid.IntRange(0, 2).Draw(t, "kind")))
		second := itemtest.OfKind(item.S + item.Kind(rapid.IntRange(0, 2).Draw(t, "kind")))
		a, b := []item.Value{first.Draw(t, "a"), second.Draw(t, "a")}, []item.Value{first.Draw(t, "b"), second.Draw(t, "b")}
		key := func(parts []item.Value) []byte { return item.AppendKey(item.AppendKey(nil, parts[0]), parts[1]) }
		one, _ := item.Compare(a[0], b[0])
		two, _ := item.Compare(a[1], b[1])
		if got, want := bytes.Compare(key(a), key(b)), cmp.Or(one, two); got != want {
			t.Fatalf("%s against %s: %d, not %d", a, b, got, want)
		}
		if one != 0 && bytes.HasPrefix(item.AppendKey(nil, a[0]), item.AppendKey(nil, b[0])) {
			t.Fatalf("%s begins with %s", a[0], b[0])
		}
	})
}

func TestKeyPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := itemtest.OfKind(rapid.SampledFrom([]item.Kind{item.S, item.B}).Draw(t, "kind"))
		v, p := g.Draw(t, "v"), g.Draw(t, "p")
		if rapid.Bool().Draw(t, "begins") && p.Kind() == item.B {
			v = item.Bin(p.Text() + v.Text())
		}
		got := bytes.HasPrefix(item.AppendKey(nil, v), item.AppendKeyPrefix(nil, p))
		if want := strings.HasPrefix(v.Text(), p.Text()); got != want {
			t.Fatalf("%s begins with %s: %v", v, p, got)
		}
	})
}

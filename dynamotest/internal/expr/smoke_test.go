package expr

import (
	"testing"

	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/jsonscan"
)

func parseItem(t testing.TB, js string) item.Item {
	t.Helper()
	var d item.Decoder
	s := jsonscan.New([]byte(js))
	it, err := d.Item(s)
	if err != nil || s.End() != nil {
		t.Fatal(js, err, s.End())
	}
	return it
}

func TestSmoke(t *testing.T) {
	it := parseItem(t, `{"pk":{"S":"a"},"n":{"N":"5"},"l":{"L":[{"N":"1"},{"M":{"x":{"S":"y"}}}]},"s":{"SS":["a","b"]}}`)
	values := parseItem(t, `{":a":{"S":"a"},":n":{"N":"5"},":s":{"SS":["b","c"]},":l":{"L":[{"S":"z"}]}}`)
	names := Names{"#n": "n"}
	for _, text := range []string{
		"pk = :a", "#n + :n", "a", "((a = :a))", "(pk = :a) and (not #n > :n or size(l) = :n)", "begins_with(pk, :n)", "contains(s, pk)", "l[1].x <> :a", "pk in (:a, :n)", "name = :a", "foo(a)", "size(a)", "#n between :n and :a", "attribute_exists(l[1].x)", "attribute_exists(l[2].x)",
	} {
		c, err := ParseCondition(text)
		if err != nil {
			t.Log(text, err)
			continue
		}
		b, err := c.Bind(names, values)
		if err != nil {
			t.Log(text, err)
			continue
		}
		t.Log(text, b.Holds(it))
	}
	for _, text := range []string{
		"SET #n = #n + :n", "set l[1].x = :a, l[7] = :n, l[5] = :a remove l[0]", "add s :s", "delete s :s", "set a.b = :a", "set x = list_append(l, :l)", "set x = if_not_exists(y, :a)", "set a = b", "set a = b + c + d", "set pk = :a, pk = :n", "foo", "set a =",
	} {
		c, err := ParseUpdate(text)
		if err != nil {
			t.Log(text, err)
			continue
		}
		b, err := c.Bind(names, values)
		if err != nil {
			t.Log(text, err)
			continue
		}
		after, err := b.Apply(it, item.Item{})
		t.Log(text, after, err, b.Touched().Of(it), b.Touched().Of(after))
	}
	for _, text := range []string{"pk = :a", "pk = :a and #n > :n", ":n <= #n and pk = :a", "pk > :a", "pk = :a or pk = :a"} {
		c, err := ParseKey(text)
		if err != nil {
			t.Log(text, err)
			continue
		}
		b, err := c.Bind(names, values)
		if err != nil {
			t.Log(text, err)
			continue
		}
		r, err := b.Range(KeyAttr{"pk", item.S}, KeyAttr{"n", item.N})
		t.Log(text, r, err)
	}
}

package item_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/item/itemtest"
)

func TestSize(t *testing.T) {
	for _, c := range []struct {
		value string
		want  int
	}{
		{`{"S":""}`, 0},
		{`{"S":"aé🙂"}`, 7},
		{`{"B":"AAAA"}`, 3},
		{`{"BOOL":false}`, 1},
		{`{"NULL":true}`, 1},
		{`{"N":"0"}`, 1},
		{`{"N":"7"}`, 2},
		{`{"N":"42"}`, 2},
		{`{"N":"-42"}`, 3},
		{`{"N":"123"}`, 3},
		{`{"N":"1234"}`, 3},
		{`{"N":"1000"}`, 2},
		{`{"N":"12.5"}`, 3},
		{`{"N":"0.05"}`, 2},
		{`{"N":"120"}`, 3}, // 1|20: pairs begin at even exponents
		{`{"N":"99999999999999999999999999999999999999"}`, 20},
		{`{"SS":["a","bc"]}`, 3},
		{`{"NS":["1","-22"]}`, 5},
		{`{"BS":["AAAA","AA=="]}`, 4},
		{`{"L":[]}`, 3},
		{`{"L":[{"S":"ab"},{"N":"1"}]}`, 9},
		{`{"M":{}}`, 3},
		{`{"M":{"xy":{"S":"ab"},"z":{"NULL":true}}}`, 11},
	} {
		it := parse(t, `{"name":`+c.value+`}`)
		if got := it.Get("name").Size(); got != c.want {
			t.Errorf("%s: %d, not %d", c.value, got, c.want)
		}
		if got := it.Size(); got != c.want+4 {
			t.Errorf("%s with its name: %d, not %d", c.value, got, c.want+4)
		}
	}
}

func TestSizeAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		it := itemtest.Item(2).Draw(t, "item")
		n := 0
		for name, v := range it.All() {
			n += len(name) + v.Size()
		}
		if it.Size() != n {
			t.Fatalf("%d, not %d: %s", it.Size(), n, it)
		}
		if m := item.Map(it); m.Size() != 3+it.Len()+n {
			t.Fatalf("as a map %d: %s", m.Size(), it)
		}
	})
}

func TestDepth(t *testing.T) {
	for value, want := range map[string]int{
		`{"S":"x"}`: 0, `{"L":[]}`: 0, `{"L":[{"S":"x"}]}`: 1, `{"L":[{"L":[]}]}`: 1, `{"M":{"a":{"L":[{"SS":["x"]}]},"b":{"S":"x"}}}`: 2,
	} {
		if got := parse(t, `{"a":`+value+`}`).Get("a").Depth(); got != want {
			t.Errorf("%s: %d, not %d", value, got, want)
		}
	}
	if item.TooDeep().Message != tooDeep {
		t.Error(item.TooDeep())
	}
}

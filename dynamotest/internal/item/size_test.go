package item_test

import (
	"strings"
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

func TestLimits(t *testing.T) {
	text := func(n int) item.Value { return item.Str(strings.Repeat("x", n)) }
	whole := func(n int) item.Item { return item.Item{}.With("name", text(n-4)) }
	for i, c := range []struct {
		err  error
		want string
	}{
		{whole(400 * 1024).CheckSize(), ""},
		{whole(400*1024 + 1).CheckSize(), "Item size has exceeded the maximum allowed size"},
		{whole(400 * 1024).CheckUpdatedSize(), ""},
		{whole(400*1024 + 1).CheckUpdatedSize(), "Item size to update has exceeded the maximum allowed size"},
		{item.CheckHashKey(text(2048)), ""},
		{item.CheckHashKey(text(2049)), invalid + "Size of hashkey has exceeded the maximum size limit of2048 bytes"},
		{item.CheckRangeKey(text(1024)), ""},
		{item.CheckRangeKey(item.Bin(strings.Repeat("\x00", 1025))), invalid + "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"},
	} {
		if got := message(t, c.err); got != c.want {
			t.Errorf("%d: %q, not %q", i, got, c.want)
		}
	}
}

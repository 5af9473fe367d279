package item_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/item/itemtest"
	"github.com/weirhq/weir/dynamotest/internal/jsonscan"
)

// FuzzDecode: no input panics. A decoded item is equal after encoding and decoding, and its parts
// can be read. Every error is one that a client can get.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":{"S":"x\u0000"},"b":{"N":"-1.5e3"}}`, `{"a":{"M":{"x":{"L":[{"NS":["1","2"]},{"BS":["AA=="]}]}}},"a":{"NULL":true}}`,
		`{"a":{"SS":["b","a","b"]},"c":{"N":"x"}}`, `{"a":{}}`, `{"a":{"S":1}}`, `[`, `{"a":{"B":"YR=="}}`, `{"":{"BOOL":false}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		it, err := decode(text)
		if err != nil {
			var e *item.Error
			if !errors.As(err, &e) && !errors.Is(err, jsonscan.ErrSyntax) {
				t.Fatalf("%v", err)
			}
			return
		}
		out := it.AppendJSON(nil)
		again, err := decode(string(out))
		if err != nil || again != it || string(again.AppendJSON(nil)) != string(out) {
			t.Fatalf("%s became %s, %v", it, again, err)
		}
		if it.Size() < 0 || it.Only(strings.Fields(text)...).Size() > it.Size() || item.Of(it.Attrs(nil)...) != it {
			t.Fatalf("%s is not consistent", it)
		}
	})
}

// FuzzNum: no text panics. A number is equal after printing and parsing, and a number minus itself
// is 0.
func FuzzNum(f *testing.F) {
	for _, seed := range []string{"0", "-1.50", "1E-130", "9.9e125", "+.5", "5.", "1e99999999999999999999", "abc", "0x1", "1.2.3"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := item.Num(text)
		if err != nil {
			if itemtest.Message(t, err) == "" {
				t.Fatal(err)
			}
			return
		}
		if again, err := item.Num(v.Text()); err != nil || again != v {
			t.Fatalf("%s became %s, then %s, %v", text, v.Text(), again, err)
		}
		if zero, err := item.Sub(v, v); err != nil || zero != item.Int(0) {
			t.Fatalf("%s less itself is %s, %v", text, zero, err)
		}
	})
}

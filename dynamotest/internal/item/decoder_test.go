package item_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/item/itemtest"
	"github.com/weirhq/weir/dynamotest/internal/jsonscan"
)

const (
	empty   = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
	several = "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
	tooDeep = "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
	invalid = "One or more parameter values were invalid: "
)

// decode reads an item. The error is the decoder's or the scanner's.
func decode(text string) (item.Item, error) {
	var d item.Decoder
	s := jsonscan.New([]byte(text))
	it, err := d.Item(s)
	if err == nil {
		err = s.End()
	}
	return it, err
}

func parse(t testing.TB, text string) item.Item {
	t.Helper()
	it, err := decode(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return it
}

// TestDecodeList: a list of values is read as its values one by one.
func TestDecodeList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(itemtest.Value(2), 0, 5).Draw(t, "values")
		var texts []string
		for _, v := range values {
			texts = append(texts, v.String())
		}
		var d item.Decoder
		s := jsonscan.New([]byte("[" + strings.Join(texts, ",") + "] "))
		got, err := d.List(s, nil)
		if err != nil || s.End() != nil || !slices.Equal(got, values) {
			t.Fatalf("%s became %s: %v", values, got, err)
		}
	})
}

func TestDecodeAllTypes(t *testing.T) {
	const text = `{
		"string": {"S": "caf\u00e9 \"\ud83d\ude42\" \/"}, "empty": {"S": ""}, "number": {"N": "0012.50"}, "binary": {"B": "aGVsbG8="},
		"yes": {"BOOL": true}, "no": {"BOOL": false}, "null": {"NULL": true},
		"map": {"M": {"z": {"N": "1"}, "a": {"M": {}}}}, "list": {"L": [{"S": "x"}, {"L": []}, {"NULL": true}]},
		"strings": {"SS": ["b", "a", ""]}, "numbers": {"NS": ["10", "9", "-1e1"]}, "binaries": {"BS": ["Yg==", "YQ=="]}
	}`
	const want = `{"binaries":{"BS":["YQ==","Yg=="]},"binary":{"B":"aGVsbG8="},"empty":{"S":""},` +
		`"list":{"L":[{"S":"x"},{"L":[]},{"NULL":true}]},"map":{"M":{"a":{"M":{}},"z":{"N":"1"}}},"no":{"BOOL":false},` +
		`"null":{"NULL":true},"number":{"N":"12.5"},"numbers":{"NS":["-10","9","10"]},"string":{"S":"café \"🙂\" /"},` +
		`"strings":{"SS":["","a","b"]},"yes":{"BOOL":true}}`
	it := parse(t, text)
	if got := it.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := it.Get("binary").Text(); got != "hello" {
		t.Errorf("the binary is %q", got)
	}
	if kinds := []item.Kind{it.Get("yes").Kind(), it.Get("list").Kind(), it.Get("nothing").Kind()}; fmt.Sprint(kinds) != "[BOOL L ]" {
		t.Errorf("kinds %v", kinds)
	}
}

func TestDecodeRefuses(t *testing.T) {
	deep := func(n int, in string) string {
		return strings.Repeat(`{"L":[`, n) + in + strings.Repeat(`]}`, n)
	}
	for _, c := range []struct{ value, want string }{
		{`{}`, empty},
		{`null`, empty},
		{`{"S":null}`, empty},
		{`{"X":"a"}`, empty},
		{`{"s":"a"}`, empty},
		{`{"S":"a","N":"1"}`, several},
		{`{"BOOL":true,"L":[]}`, several},
		{`{"L":[{"S":"a"},{}]}`, empty},
		{`{"M":{"x":{"S":"a","B":""}}}`, several},
		{`{"NULL":false}`, invalid + "Null attribute value types must have the value of true"},
		{`{"SS":[]}`, invalid + "An string set  may not be empty"},
		{`{"NS":[]}`, invalid + "An number set  may not be empty"},
		{`{"BS":[]}`, invalid + "Binary sets should not be empty"},
		{`{"SS":["b","a","b"]}`, invalid + "Input collection [b, a, b] contains duplicates."},
		{`{"NS":["1","1.0"]}`, "Input collection contains duplicates"},
		{`{"BS":["Yg==","YQ==","Yg=="]}`, invalid + "Input collection [Yg==, YQ==, Yg==]of type BS contains duplicates."},
		{`{"N":""}`, notNumeric},
		{`{"N":"b"}`, notNumeric + ": b"},
		{`{"N":"1e126"}`, overflow},
		{`{"NS":["1","x"]}`, notNumeric + ": x"},
		{`{"NS":["x"]}`, notNumeric + ": x"},
		{`{"SS":["a","a"],"N":"b"}`, invalid + "Input collection [a, a] contains duplicates."},
		{deep(31, `{"S":"x"}`), ""},
		{deep(32, `{"S":"x"}`), tooDeep},
		{deep(31, `{"L":[]}`), ""},
		{deep(40, `{"S":"x"}`), tooDeep},
	} {
		_, err := decode(`{"a":{"S":"ok"},"b":` + c.value + `}`)
		if got := itemtest.Message(t, err); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.value, got, c.want)
		}
	}
}

func TestDecodeRefusesShapes(t *testing.T) {
	const value = "com.amazonaws.dynamodb.v20120810.AttributeValue"
	for _, c := range []struct{ text, want string }{
		{`[]`, "Unrecognized collection type java.util.Map<java.lang.String, " + value + ">"},
		{`"a"`, "Unexpected field type"},
		{`{"a":"b"}`, "Unexpected value type in payload"},
		{`{"a":1}`, "Unexpected value type in payload"},
		{`{"a":[]}`, "Unrecognized collection type class " + value},
		{`{"a":{"S":true}}`, "TRUE_VALUE cannot be converted to String"},
		{`{"a":{"S":false}}`, "FALSE_VALUE cannot be converted to String"},
		{`{"a":{"S":23}}`, "NUMBER_VALUE cannot be converted to String"},
		{`{"a":{"N":23.5}}`, "DECIMAL_VALUE cannot be converted to String"},
		{`{"a":{"N":1e2}}`, "DECIMAL_VALUE cannot be converted to String"},
		{`{"a":{"S":{}}}`, "Start of structure or map found where not expected"},
		{`{"a":{"S":[]}}`, "Unrecognized collection type class java.lang.String"},
		{`{"a":{"B":23}}`, "only base-64-encoded strings are convertible to bytes"},
		{`{"a":{"B":true}}`, "only base-64-encoded strings are convertible to bytes"},
		{`{"a":{"B":[]}}`, "Unrecognized collection type class java.nio.ByteBuffer"},
		{`{"a":{"B":{}}}`, "Start of structure or map found where not expected"},
		{`{"a":{"B":"abc"}}`, "Base64 encoded length is expected a multiple of 4 bytes but found: 3"},
		{`{"a":{"B":"=+/="}}`, "Invalid last non-pad Base64 character dectected"},
		{`{"a":{"B":"ab\n="}}`, "Invalid last non-pad Base64 character dectected"},
		{`{"a":{"B":"YR=="}}`, "Invalid last non-pad Base64 character dectected"},
		{`{"a":{"BOOL":"x"}}`, "Unexpected token received from parser"},
		{`{"a":{"BOOL":23}}`, "NUMBER_VALUE cannot be converted to Boolean"},
		{`{"a":{"NULL":[]}}`, "Unrecognized collection type class java.lang.Boolean"},
		{`{"a":{"NULL":{}}}`, "Start of structure or map found where not expected"},
		{`{"a":{"SS":"x"}}`, "Unexpected field type"},
		{`{"a":{"SS":{}}}`, "Start of structure or map found where not expected"},
		{`{"a":{"SS":[1]}}`, "NUMBER_VALUE cannot be converted to String"},
		{`{"a":{"SS":[null]}}`, "NULL_VALUE cannot be converted to String"},
		{`{"a":{"L":true}}`, "Unexpected field type"},
		{`{"a":{"L":["x"]}}`, "Unexpected value type in payload"},
		{`{"a":{"M":[]}}`, "Unrecognized collection type java.util.Map<java.lang.String, " + value + ">"},
		{`{"a":{"N":"not a number"},"b":{"S":1}}`, "NUMBER_VALUE cannot be converted to String"}, // errors of shape come first
	} {
		_, err := decode(c.text)
		var e *item.Error
		if !errors.As(err, &e) || e.Code != item.Serialization || e.Message != c.want {
			t.Errorf("%s\ngot  %v\nwant %s", c.text, err, c.want)
		}
	}
	for _, text := range []string{``, `{`, `{"a"}`, `{"a":{"S":"x"}`, `{"a":{"S":"x"},}`, `{"a":{"S":"\x"}}`, "{\"a\":{\"S\":\"\xff\"}}", `{"a":{"S":"x"}} x`} {
		if _, err := decode(text); !errors.Is(err, jsonscan.ErrSyntax) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestDecodeContinuesAfterAnInvalidValue(t *testing.T) {
	var d item.Decoder
	s := jsonscan.New([]byte(`[{"a":{"L":[{"SS":["x","x"]},{"NS":["1","y"]}]},"b":{"M":{"c":{}}}},{"d":{"S":"good"}}]`))
	s.Enter('[')
	s.Next(']')
	if _, err := d.Item(s); itemtest.Message(t, err) != invalid+"Input collection [x, x] contains duplicates." {
		t.Error(err)
	}
	if !s.Next(']') {
		t.Fatal("nothing follows")
	}
	if it, err := d.Item(s); err != nil || it.Get("d").Text() != "good" {
		t.Error(it, err)
	}
	if s.Next(']') || s.End() != nil {
		t.Error(s.End())
	}
}

func TestDecodeKeepsTheLastOfOneName(t *testing.T) {
	it := parse(t, `{"b":{"S":"1"},"a":{"S":"2"},"b":{"S":"3"},"c":{"M":{"x":{"N":"1"},"x":{"N":"2"}}}}`)
	if got, want := it.String(), `{"a":{"S":"2"},"b":{"S":"3"},"c":{"M":{"x":{"N":"2"}}}}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestDecodeValues(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{":a":{"S":"x"},":b":{"N":"b"}}`, "ExpressionAttributeValues contains invalid value: " + notNumeric + ": b for key :b"},
		{`{":b":{"M":{"deeper":{}}},":a":{"N":"b"}}`, "ExpressionAttributeValues contains invalid value: " + empty + " for key :b"},
		{`{":a":` + strings.Repeat(`{"M":{"x":`, 32) + `{"S":"x"}` + strings.Repeat(`}}`, 32) + `}`, tooDeep},
		{`{":a":{"S":"x"}}`, ""},
	} {
		var d item.Decoder
		_, err := d.Values(jsonscan.New([]byte(c.text)))
		if got := itemtest.Message(t, err); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.text, got, c.want)
		}
	}
}

func TestDecodeValuesReportsTheShapeFirst(t *testing.T) {
	var d item.Decoder
	var e *item.Error
	if _, err := d.Values(jsonscan.New([]byte(`{":a":{"NULL":false},":b":{"B":"YQ"}}`))); !errors.As(err, &e) || e.Code != item.Serialization {
		t.Error(err)
	}
}

func TestDecodeLong(t *testing.T) { // lengths of two and three bytes
	for _, n := range []int{126, 127, 128, 129, 16383, 16384, 20000} {
		s := strings.Repeat("x", n)
		text := `{"` + s + `":{"M":{"a":{"L":[{"S":"` + s + `"},{"SS":["` + s + `","b"]},{"B":"` + base64.StdEncoding.EncodeToString([]byte(s)) + `"}]}}}}`
		it := parse(t, text)
		l := it.Get(s).Item().Get("a")
		if l.Index(0).Text() != s || !l.Index(1).Contains(item.Str(s)) || !l.Index(1).Contains(item.Str("b")) || l.Index(2).Text() != s {
			t.Errorf("%d: %.100s", n, it)
		}
		if again := parse(t, it.String()); again != it {
			t.Errorf("%d bytes are not the same again", n)
		}
	}
}

// TestJSONRoundTrip encodes and decodes items. It also lets encoding/json write the attributes in
// another order and with other escapes.
func TestJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		it := itemtest.Item(3).Draw(t, "item")
		text := it.AppendJSON(nil)
		again, err := decode(string(text))
		if err != nil || again != it {
			t.Fatalf("%s became %s, %v", text, again, err)
		}
		var tree any
		if err := json.Unmarshal(text, &tree); err != nil {
			t.Fatal(err)
		}
		other, err := json.MarshalIndent(reversed(tree), "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		if again, err = decode(string(other)); err != nil || again != it {
			t.Fatalf("%s became %s, %v", other, again, err)
		}
	})
}

// reversed reverses the sets in DynamoDB's JSON.
func reversed(tree any) any {
	switch x := tree.(type) {
	case map[string]any:
		for name, v := range x {
			list, ok := v.([]any)
			if _, isText := first(list).(string); ok && isText {
				for i := range len(list) / 2 {
					list[i], list[len(list)-1-i] = list[len(list)-1-i], list[i]
				}
			}
			x[name] = reversed(v)
		}
	case []any:
		for i := range x {
			x[i] = reversed(x[i])
		}
	}
	return tree
}

func first(list []any) any {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

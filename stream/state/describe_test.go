package state

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weirhq/weir/stream"
)

// Describe shows rows as their codecs read them: keys that are text stay text, bytes stay bytes,
// messages have the names of the schema, and bytes of another codec are an error.
func TestDescribe(t *testing.T) {
	show := func(by func([]byte) ([]byte, error), b []byte) string {
		t.Helper()
		if by == nil {
			return "bytes"
		}
		text, err := by(b)
		if err != nil {
			return "error: " + err.Error()
		}
		return string(text)
	}
	type session struct {
		Clicks int `json:"clicks"`
	}
	eight, err := Uint64{}.Append(nil, 7)
	if err != nil {
		t.Fatal(err)
	}
	message, err := Proto[*durationpb.Duration]{}.Append(nil, &durationpb.Duration{Seconds: 3})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		info       stream.TableInfo
		key, value []byte
		want       string
	}{
		"text and number":  {NewTable(1, String{}, Uint64{}).Describe("counts"), []byte("to"), eight, "bytes 7"},
		"number and JSON":  {NewTable(2, Uint64{}, JSON[session]{}).Describe("sessions"), eight, []byte(`{"clicks":2}`), `7 {"clicks":2}`},
		"raw":              {NewTable(3, Bytes{}, Bytes{}).Describe("raw"), eight, eight, "bytes bytes"},
		"message":          {NewTable(4, String{}, Proto[*durationpb.Duration]{}).Describe("times"), nil, message, `bytes "3s"`},
		"of another codec": {NewTable(5, Uint64{}, Uint64{}).Describe("damaged"), []byte("x"), nil, "error: the value has 1 bytes, 8 are expected: another codec wrote it error: the value has 0 bytes, 8 are expected: another codec wrote it"},
	} {
		if got := show(c.info.Key, c.key) + " " + show(c.info.Value, c.value); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if i := NewTable(9, String{}, JSON[json.RawMessage]{}).Describe("any"); i.Number != 9 || i.Name != "any" || show(i.Value, []byte(`{"a":1}`)) != `{"a":1}` {
		t.Errorf("%+v", i)
	}
}

// A processor refuses descriptions that do not fit together.
func TestTablesOfProcessor(t *testing.T) {
	table := func(number byte, name string) stream.TableInfo { return stream.TableInfo{Number: number, Name: name} }
	for want, list := range map[string][]stream.TableInfo{
		"":                               {table(1, "a"), table(200, "b")},
		"is the runtime's":               {table(stream.TimerTable, "a")},
		"has number 0":                   {table(0, "a")},
		`cannot be named "7"`:            {table(1, "7")},
		`cannot be named ""`:             {table(1, "")},
		`"a" and "b" both have number 1`: {table(1, "a"), table(1, "b")},
		`two tables are named "a"`:       {table(1, "a"), table(2, "a")},
	} {
		p := stream.Processor{App: "app", Inputs: []string{"in"}, Tables: list, New: func(stream.Task) (stream.Handler, error) { return nil, nil }} //nolint:nilnil // it is not called
		if err := p.Complete(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

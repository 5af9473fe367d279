package render

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/weirhq/weir/api/weirpb"
)

// entry is the JSON form of a StateEntry. Key has the format of KeyText.
type entry struct {
	Partition int32           `json:"partition"`
	Key       string          `json:"key"`
	KeyHex    string          `json:"key_hex"`
	KeyFields json.RawMessage `json:"key_fields,omitempty"` // absent: the key is text, or its schema is not known
	Base64    string          `json:"value_base64"`
	Value     json.RawMessage `json:"value"` // proto JSON; null: the schema is not known
	Error     string          `json:"value_error,omitempty"`
}

func entryOf(e *weirpb.StateEntry) entry {
	out := entry{
		Partition: e.GetPartition(), Key: KeyText(e.GetKey()), KeyHex: hex.EncodeToString(e.GetKey()),
		Base64: base64.StdEncoding.EncodeToString(e.GetValue()), Value: json.RawMessage("null"), Error: e.GetJsonError(),
	}
	if e.GetKeyJson() != "" {
		out.KeyFields = json.RawMessage(e.GetKeyJson())
	}
	if e.GetJson() != "" {
		out.Value = json.RawMessage(e.GetJson())
	}
	return out
}

// StateJSON formats res as one JSON object without a newline at the end.
func StateJSON(res *weirpb.GetStateResponse) ([]byte, error) {
	return marshal("the entry", struct {
		entry
		AsOf *asOf `json:"as_of"`
	}{entryOf(res.GetEntry()), asOfOf(res.GetAsOf())})
}

// StateTable formats res for a terminal. It ends with a newline.
func StateTable(res *weirpb.GetStateResponse) string {
	t := newTable()
	e := res.GetEntry()
	t.AppendRow(table.Row{"partition", e.GetPartition()})
	t.AppendRow(table.Row{"key", KeyText(e.GetKey())})
	if e.GetKeyJson() != "" {
		t.AppendRow(table.Row{"key fields", plain(e.GetKeyJson())})
	}
	t.AppendRow(table.Row{"value", valueText(e)})
	t.AppendRow(table.Row{"as of", asOfText(res.GetAsOf())})
	return t.Render() + "\n"
}

// valueText formats a value on one line: by its schema, or its bytes.
func valueText(e *weirpb.StateEntry) string {
	switch {
	case e.GetJson() != "":
		return plain(e.GetJson())
	case e.GetJsonError() != "":
		return fmt.Sprintf("%s (%s)", hex.EncodeToString(e.GetValue()), plain(e.GetJsonError()))
	}
	return hex.EncodeToString(e.GetValue())
}

// ScanJSON formats res as one JSON object without a newline at the end. next_page_token is empty on
// the last page.
func ScanJSON(res *weirpb.ScanStateResponse) ([]byte, error) {
	out := struct {
		Entries []entry `json:"entries"`
		AsOf    []*asOf `json:"as_of"`
		Next    string  `json:"next_page_token"`
	}{Entries: []entry{}, AsOf: []*asOf{}, Next: res.GetNextPageToken()}
	for _, e := range res.GetEntries() {
		out.Entries = append(out.Entries, entryOf(e))
	}
	for _, at := range res.GetAsOf() {
		out.AsOf = append(out.AsOf, asOfOf(at))
	}
	return marshal("the entries", out)
}

// ScanLines formats each entry as one JSON object on a line of its own.
func ScanLines(res *weirpb.ScanStateResponse) ([]byte, error) {
	var out []byte
	for _, e := range res.GetEntries() {
		b, err := marshal("an entry", entryOf(e))
		if err != nil {
			return nil, err
		}
		out = append(append(out, b...), '\n')
	}
	return out, nil
}

// ScanTable formats res for a terminal: one line per entry. It ends with a newline.
func ScanTable(res *weirpb.ScanStateResponse) string {
	if len(res.GetEntries()) == 0 {
		return fmt.Sprintf("no such key in %d partitions\n", len(res.GetAsOf()))
	}
	t := newTable()
	fields := slices.ContainsFunc(res.GetEntries(), func(e *weirpb.StateEntry) bool { return e.GetKeyJson() != "" })
	header := table.Row{"partition", "key", "value"}
	if fields {
		header = slices.Insert(header, 2, any("key fields"))
	}
	t.AppendHeader(header)
	right(t, 1)
	for _, e := range res.GetEntries() {
		row := table.Row{e.GetPartition(), KeyText(e.GetKey()), valueText(e)}
		if fields {
			row = slices.Insert(row, 2, any(plain(e.GetKeyJson())))
		}
		t.AppendRow(row)
	}
	return t.Render() + "\n"
}

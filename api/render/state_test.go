package render

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhq/weir/api/weirpb"
)

func stateAsOf() *weirpb.AsOf {
	return &weirpb.AsOf{
		Partition: 5, NextOffsets: map[string]int64{"ads.events": 7}, AppliedMs: 1700000000500, ChangelogNext: 9, OwnerEpoch: 2,
		ServedBy: &weirpb.ServedBy{Instance: "weir-0", Role: "owner"},
	}
}

func TestState(t *testing.T) {
	known := &weirpb.StateEntry{Partition: 5, Key: []byte("c1\x00a"), Value: []byte{1, 2}, Json: `{"campaign":"c1"}`}
	opaque := &weirpb.StateEntry{Partition: 6, Key: []byte{0xff}, Value: []byte{3}}
	broken := &weirpb.StateEntry{Partition: 6, Key: []byte(`\`), Value: []byte{4}, JsonError: "no spend"}
	get := &weirpb.GetStateResponse{Entry: known, AsOf: stateAsOf()}
	scan := &weirpb.ScanStateResponse{Entries: []*weirpb.StateEntry{known, opaque, broken}, AsOf: []*weirpb.AsOf{stateAsOf()}, NextPageToken: "t0k"}
	hash := &weirpb.HashStateResponse{Partitions: []*weirpb.PartitionHash{
		{AsOf: stateAsOf(), Tables: []*weirpb.TableHash{{Table: 1, Name: "spend", Keys: 2, Bytes: 30, Hash: []byte{0xab, 0xcd}}, {Table: 44, Keys: 1, Bytes: 3, Hash: []byte{1}}}},
		{AsOf: &weirpb.AsOf{Partition: 6, ServedBy: &weirpb.ServedBy{Instance: "weir-1", Role: "standby", StalenessMs: 40}}},
	}}
	asOf := `{"partition":5,"next_offsets":{"ads.events":7},"event_ms":0,"applied_ms":1700000000500,"changelog_next":9,"owner_epoch":2,` +
		`"served_by":{"instance":"weir-0","role":"owner","staleness_ms":0,"stopped":""}}`
	line := `{"partition":5,"key":"c1\\x00a","key_hex":"63310061","value_base64":"AQI=","value":{"campaign":"c1"}}`
	others := []string{
		`{"partition":6,"key":"\\xff","key_hex":"ff","value_base64":"Aw==","value":null}`,
		`{"partition":6,"key":"\\\\","key_hex":"5c","value_base64":"BA==","value":null,"value_error":"no spend"}`,
	}
	for name, c := range map[string]struct{ got, want string }{
		"get": {StateTable(get), `partition  5
key        c1\x00a
value      {"campaign":"c1"}
as of      partition 5 ads.events@7, applied 2023-11-14T22:13:20.500Z, served by weir-0
`},
		"get JSON": {must(StateJSON(get)), strings.TrimSuffix(line, "}") + `,"as_of":` + asOf + `}`},
		"scan": {ScanTable(scan), `partition  key      value
        5  c1\x00a  {"campaign":"c1"}
        6  \xff     03
        6  \\       04 (no spend)
`},
		"scan JSON":       {must(ScanJSON(scan)), `{"entries":[` + line + "," + strings.Join(others, ",") + `],"as_of":[` + asOf + `],"next_page_token":"t0k"}`},
		"scan lines":      {must(ScanLines(scan)), line + "\n" + strings.Join(others, "\n") + "\n"},
		"no entries":      {ScanTable(&weirpb.ScanStateResponse{AsOf: []*weirpb.AsOf{nil, nil}}), "no such key in 2 partitions\n"},
		"no entries JSON": {must(ScanJSON(nil)), `{"entries":[],"as_of":[],"next_page_token":""}`},
		"hash": {HashTable(hash), `partition  table  keys  bytes  sha256  changelog  served by
        5  spend     2     30  abcd            9  weir-0
        5  44        1      3  01              9  weir-0
        6  none      0      0                  0  standby weir-1, at most 40 ms old
`},
		"no hash JSON": {must(HashJSON(nil)), `{"partitions":[]}`},
	} {
		if d := cmp.Diff(c.want, c.got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if got := must(HashJSON(hash)); !json.Valid([]byte(got)) || !strings.Contains(got, `"tables":[{"table":1,"name":"spend","keys":2,"bytes":30,"sha256":"abcd"}`) || !strings.Contains(got, `"tables":[]`) {
		t.Errorf("hash JSON: %s", got)
	}
}

func TestParseKeyRefuses(t *testing.T) {
	for _, text := range []string{`\`, `a\n`, `\x`, `\x0`, `\x0g`, `\X00`, `\u0041`} {
		if key, err := ParseKey(text); err == nil || !strings.Contains(err.Error(), `\xNN`) {
			t.Errorf("%s is %q, %v", text, key, err)
		}
	}
}

// FuzzKey formats any key and parses it back, and parses any text, which then has one spelling.
func FuzzKey(f *testing.F) {
	for _, s := range []string{"c1\x00a1\x00\x01\x33\x2c\xbbUSD", `\x00`, `\\x00`, "\xff\\", "日本"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		text := KeyText(b)
		for _, c := range []byte(text) {
			if c < ' ' || c > '~' {
				t.Fatalf("%q is shown with byte %#x", b, c)
			}
		}
		if got, err := ParseKey(text); err != nil || !bytes.Equal(got, b) {
			t.Fatalf("%q is written %s and read as %q, %v", b, text, got, err)
		}
		if key, err := ParseKey(string(b)); err == nil {
			if again, err := ParseKey(KeyText(key)); err != nil || !bytes.Equal(again, key) {
				t.Fatalf("%q is %q, then %q, %v", b, key, again, err)
			}
		}
	})
}

package api

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/api/weirpb/weirpbconnect"
	"github.com/weirhq/weir/events/eventspb"
)

const (
	getState  = weirpbconnect.StateServiceGetStateProcedure
	scanState = weirpbconnect.StateServiceScanStateProcedure
	hashState = weirpbconnect.StateServiceHashStateProcedure
)

// filled has 25 keys in each of its partitions: 0:00 to 3:24.
func filled() *fakeState {
	f := &fakeState{instance: "weir-a"}
	for p := range int32(fakePartitions) {
		for i := range 25 {
			f.put(p, fmt.Sprintf("%d:%02d", p, i), "v")
		}
	}
	return f
}

// scanAll reads page by page, calls between after each page, and returns the keys.
func scanAll(t *testing.T, m *member, req *weirpb.ScanStateRequest, between func(page int, last string)) (keys []string, pages int) {
	t.Helper()
	for {
		res, err := m.client.ScanState(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Entries) > int(req.Limit) {
			t.Fatalf("page %d has %d entries, want at most %d", pages, len(res.Entries), req.Limit)
		}
		read := map[int32]bool{}
		for _, at := range res.AsOf {
			if read[at.Partition] || at.NextOffsets["ads.events"] != 100+int64(at.Partition) || at.ChangelogNext != 7 || at.OwnerEpoch != 3 {
				t.Errorf("page %d: as of %v", pages, at)
			}
			read[at.Partition] = true
		}
		for _, e := range res.Entries {
			if !read[e.Partition] {
				t.Errorf("page %d: no as_of for partition %d", pages, e.Partition)
			}
			keys = append(keys, string(e.Key))
		}
		if between != nil && len(keys) > 0 {
			between(pages, keys[len(keys)-1])
		}
		if pages++; res.NextPageToken == "" {
			return keys, pages
		}
		if req.PageToken = res.NextPageToken; pages > 1000 {
			t.Fatal("the pages do not end")
		}
	}
}

func TestScanPages(t *testing.T) {
	m := start(t, filled(), &fakePeers{}, nil)
	var all []string
	for p := range fakePartitions {
		for i := range 25 {
			all = append(all, fmt.Sprintf("%d:%02d", p, i))
		}
	}
	for name, c := range map[string]struct {
		req         *weirpb.ScanStateRequest
		want        []string
		least, most int // pages
	}{
		"one page":           {&weirpb.ScanStateRequest{Limit: 1000}, all, 1, 1},
		"one by one":         {&weirpb.ScanStateRequest{Limit: 1}, all, 100, 101},
		"across partitions":  {&weirpb.ScanStateRequest{Limit: 7}, all, 15, 15},
		"at the edges":       {&weirpb.ScanStateRequest{Limit: 25}, all, 4, 5},
		"a partition":        {&weirpb.ScanStateRequest{Limit: 10, Partition: new(int32(2))}, all[50:75], 3, 3},
		"a prefix":           {&weirpb.ScanStateRequest{Limit: 3, Prefix: []byte("1:1")}, all[35:45], 4, 4},
		"a range":            {&weirpb.ScanStateRequest{Limit: 4, Start: []byte("1:20"), End: []byte("2:03")}, all[45:53], 2, 3},
		"an open range":      {&weirpb.ScanStateRequest{Limit: 4, Start: []byte("3:20")}, all[95:], 2, 3},
		"nothing":            {&weirpb.ScanStateRequest{Limit: 4, Prefix: []byte("9")}, nil, 1, 1},
		"a prefix of 0xff":   {&weirpb.ScanStateRequest{Limit: 4, Prefix: []byte{0xff, 0xff}}, nil, 1, 1},
		"the other table":    {&weirpb.ScanStateRequest{Limit: 4, Table: "opaque"}, nil, 1, 1},
		"a table of no name": {&weirpb.ScanStateRequest{Limit: 4, Table: "200"}, nil, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if c.req.Table == "" {
				c.req.Table = "spend"
			}
			keys, pages := scanAll(t, m, c.req, nil)
			if !slices.Equal(keys, c.want) {
				t.Errorf("keys %q, want %q", keys, c.want)
			}
			if pages < c.least || pages > c.most {
				t.Errorf("%d pages, want %d to %d", pages, c.least, c.most)
			}
		})
	}
}

// TestScanUnderWrites changes the table between pages. A key that exists all the time is returned
// exactly once.
func TestScanUnderWrites(t *testing.T) {
	f := filled()
	m := start(t, f, &fakePeers{}, nil)
	gone := map[string]bool{}
	keys, _ := scanAll(t, m, &weirpb.ScanStateRequest{Table: "spend", Limit: 6}, func(page int, last string) {
		p := int32(last[0] - '0')
		f.put(p, fmt.Sprintf("%d:00+%d", p, page), "before what was read")
		f.put(p, last+"+", "after it")
		f.remove(p, last) // the key of the token
		gone[last] = true
	})
	seen := map[string]int{}
	for _, k := range keys {
		seen[k]++
	}
	for p := range fakePartitions {
		for i := range 25 {
			if k := fmt.Sprintf("%d:%02d", p, i); seen[k] != 1 {
				t.Errorf("%s came %d times", k, seen[k])
			}
		}
	}
	if !slices.IsSorted(keys) || len(gone) < 15 {
		t.Errorf("%d pages, keys %q", len(gone), keys)
	}
}

// TestScanBytes fills partitions beyond the size of a page. Pages end early and none is empty.
func TestScanBytes(t *testing.T) {
	f := &fakeState{instance: "weir-a"}
	for p := range int32(fakePartitions) {
		f.put(p, fmt.Sprint("a", p), strings.Repeat("x", MaxPageBytes+1))
		f.put(p, fmt.Sprint("b", p), "small")
	}
	m := start(t, f, &fakePeers{}, nil)
	keys, pages := scanAll(t, m, &weirpb.ScanStateRequest{Table: "spend", Limit: MaxPageKeys}, nil)
	if len(keys) != 8 || pages < 4 {
		t.Errorf("%d pages, keys %q", pages, keys)
	}
}

func TestGetState(t *testing.T) {
	f := filled()
	value, err := proto.Marshal(&eventspb.Spend{Campaign: "c1", Currency: "USD", Duplicates: 1 << 60})
	if err != nil {
		t.Fatal(err)
	}
	f.put(2, "2:99", string(value)) // '2' is 0x32: partition 2
	f.put(3, "\xff", "\xff")
	m := start(t, f, &fakePeers{}, nil)
	res, err := m.client.GetState(t.Context(), &weirpb.GetStateRequest{App: "counter", Table: "spend", Key: []byte("2:99")})
	if err != nil || !bytes.Equal(res.Entry.Value, value) || res.Entry.Partition != 2 || res.AsOf.Partition != 2 || res.AsOf.ServedBy.Instance != "weir-a" {
		t.Fatalf("%v, %v", res, err)
	}
	for _, want := range []string{`"campaign":"c1"`, `"duplicates":"1152921504606846976"`, `"by_dc":[]`} {
		if !strings.Contains(res.Entry.Json, want) || strings.Contains(res.Entry.Json, " ") {
			t.Errorf("%s lacks %s", res.Entry.Json, want)
		}
	}
	res, err = m.client.GetState(t.Context(), &weirpb.GetStateRequest{Table: "1", Key: []byte("\xff"), Partition: new(int32(3))})
	if err != nil || res.Entry.Json != "" || !strings.Contains(res.Entry.JsonError, "does not match the schema of table spend") || string(res.Entry.Value) != "\xff" {
		t.Errorf("a value of another kind: %v, %v", res, err)
	}
}

// TestStateErrors covers the mistakes of callers. Each text states what to do.
func TestStateErrors(t *testing.T) {
	f := filled()
	f.is(1, "restoring", 0)
	h := mustNew(t, changed(config(), func(c *Config) { c.Apps = []App{appOf(f, &fakePeers{err: errNoBroker})} })).dataHandler()
	long := strings.Repeat("QUFB", maxKeyBytes/3+1)
	for name, c := range map[string]struct {
		path, body, code string
		texts            []string
	}{
		"no table":           {getState, `{"key":"YQ=="}`, "invalid_argument", []string{`no table ""`, "spend (1), opaque (9)"}},
		"unknown table":      {scanState, `{"table":"sped"}`, "invalid_argument", []string{`no table "sped"`, "from 1 to 255"}},
		"the runtime's":      {scanState, `{"table":"0"}`, "invalid_argument", []string{`no table "0"`}},
		"table too great":    {scanState, `{"table":"256"}`, "invalid_argument", []string{`no table "256"`}},
		"another app":        {hashState, `{"app":"other"}`, "invalid_argument", []string{`"other" does not run in this process (applications: counter)`}},
		"no key":             {getState, `{"table":"spend"}`, "invalid_argument", []string{"has no key"}},
		"key too long":       {getState, `{"table":"spend","key":"` + long + `"}`, "invalid_argument", []string{"65538 bytes"}},
		"which partition":    {getState, `{"table":"opaque","key":"YQ=="}`, "invalid_argument", []string{"does not determine which of the 4 partitions", "set partition"}},
		"foreign key":        {getState, `{"table":"spend","key":"/w=="}`, "invalid_argument", []string{"set partition"}},
		"partition":          {getState, `{"table":"spend","key":"YQ==","partition":4}`, "invalid_argument", []string{"partition 4 does not exist", "0 to 3"}},
		"negative partition": {scanState, `{"table":"spend","partition":-1}`, "invalid_argument", []string{"partition -1"}},
		"hash of no such":    {hashState, `{"partition":9}`, "invalid_argument", []string{"partition 9"}},
		"limit":              {scanState, `{"table":"spend","limit":10001}`, "invalid_argument", []string{"limit 10001", "1 to 10000"}},
		"negative limit":     {scanState, `{"table":"spend","limit":-1}`, "invalid_argument", []string{"limit -1"}},
		"prefix and range":   {scanState, `{"table":"spend","prefix":"YQ==","end":"Yg=="}`, "invalid_argument", []string{"a prefix and a range"}},
		"empty range":        {scanState, `{"table":"spend","start":"Yg==","end":"Yg=="}`, "invalid_argument", []string{"end is the first key that is not included"}},
		"foreign token":      {scanState, `{"table":"spend","page_token":"hello"}`, "invalid_argument", []string{"page_token", "omit it"}},
		"staleness":          {scanState, `{"table":"spend","max_staleness_ms":-1}`, "invalid_argument", []string{"max_staleness_ms -1"}},
		"staleness overflow": {hashState, `{"max_staleness_ms":"9223372036854775807"}`, "invalid_argument", []string{"out of range"}},
		"not there":          {getState, `{"table":"spend","key":"MDo5OQ=="}`, "not_found", []string{`key "0:99" of table spend in partition 0`, "as of partition 0 (ads.events up to offset 100)"}},
		"not readable":       {getState, `{"table":"spend","key":"MTowMA=="}`, "unavailable", []string{"partition 1 is restoring", "42 % done", "no broker answers", "try again"}},
		"one of all":         {scanState, `{"table":"spend","limit":1000}`, "unavailable", []string{"table spend", "partition 1 is restoring"}},
		"one hash of all":    {hashState, `{}`, "unavailable", []string{"partition 1 is restoring"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, body := post(t, h, c.path, c.body)
			if !strings.Contains(body, `"code":"`+c.code+`"`) {
				t.Errorf("%s, want %s", body, c.code)
			}
			for _, want := range c.texts {
				if !strings.Contains(strings.ReplaceAll(body, `\"`, `"`), want) {
					t.Errorf("%s lacks %q", body, want)
				}
			}
		})
	}
}

func changed(c Config, change func(*Config)) Config {
	change(&c)
	return c
}

// TestTokenOfAnotherRequest sends a token with each request that it does not belong to.
func TestTokenOfAnotherRequest(t *testing.T) {
	m := start(t, filled(), &fakePeers{}, nil)
	res, err := m.client.ScanState(t.Context(), &weirpb.ScanStateRequest{Table: "spend", Limit: 3, Start: []byte("0:05"), End: []byte("2")})
	if err != nil || res.NextPageToken == "" {
		t.Fatalf("%v, %v", res, err)
	}
	for name, req := range map[string]*weirpb.ScanStateRequest{
		"table":     {Table: "opaque", Start: []byte("0:05"), End: []byte("2")},
		"start":     {Table: "spend", Start: []byte("0:06"), End: []byte("2")},
		"end":       {Table: "spend", Start: []byte("0:05"), End: []byte("3")},
		"no end":    {Table: "spend", Start: []byte("0:05")},
		"partition": {Table: "spend", Start: []byte("0:05"), End: []byte("2"), Partition: new(int32)},
	} {
		req.PageToken = res.NextPageToken
		if _, err := m.client.ScanState(t.Context(), req); connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "another request") {
			t.Errorf("another %s: %v", name, err)
		}
	}
	more, err := m.client.ScanState(t.Context(), &weirpb.ScanStateRequest{Table: "1", Limit: 1, Start: []byte("0:05"), End: []byte("2"), PageToken: res.NextPageToken})
	if err != nil || string(more.Entries[0].Key) != "0:08" {
		t.Errorf("another limit, and the table by its number: %v, %v", more, err)
	}
}

func TestHashState(t *testing.T) {
	f := filled()
	f.remove(3, "3:00")
	m := start(t, f, &fakePeers{}, nil)
	res, err := m.client.HashState(t.Context(), &weirpb.HashStateRequest{})
	if err != nil || len(res.Partitions) != fakePartitions {
		t.Fatalf("%v, %v", res, err)
	}
	for p, h := range res.Partitions {
		want := int64(25)
		if p == 3 {
			want = 24
		}
		if h.AsOf.Partition != int32(p) || len(h.Tables) != 1 || h.Tables[0].Name != "spend" || h.Tables[0].Keys != want || len(h.Tables[0].Hash) != 32 {
			t.Errorf("partition %d: %v", p, h)
		}
	}
	one, err := m.client.HashState(t.Context(), &weirpb.HashStateRequest{Partition: new(int32(3))})
	if err != nil || len(one.Partitions) != 1 || !proto.Equal(one.Partitions[0], res.Partitions[3]) {
		t.Errorf("%v, %v", one, err)
	}
}

// TestNoState asks a process whose only application has no state, as a sink has none.
func TestNoState(t *testing.T) {
	h := mustNew(t, config()).dataHandler()
	for body, want := range map[string]string{
		`{"table":"spend"}`:                      "this process (applications: spendcounter) has no state to read",
		`{"table":"spend","app":"spendcounter"}`: "spendcounter has no state",
	} {
		if status, answer := post(t, h, getState, body); status != http.StatusBadRequest || !strings.Contains(answer, want) {
			t.Errorf("%s: %d %s, want %s", body, status, answer, want)
		}
	}
}

// FuzzPageToken parses any text as a token. An accepted token is inside the range of the request,
// and formatting it gives the same position.
func FuzzPageToken(f *testing.F) {
	base := scanQuery{table: 1, from: []byte("b"), to: []byte("d"), first: 1, last: 2}
	f.Add(position{1, []byte("b")}.token(base.fingerprint()), []byte("c"), uint16(2))
	f.Add("", []byte{}, uint16(0))
	f.Add("AQ", []byte("\xff"), uint16(65535))
	f.Add(position{3, []byte("c")}.token(base.fingerprint()), []byte("b\x00"), uint16(1))
	f.Fuzz(func(t *testing.T, token string, key []byte, partition uint16) {
		if p, err := base.resume(token); err == nil {
			if p.partition < 1 || p.partition > 2 || !base.contains(p.from) {
				t.Errorf("%q points to %v, outside of the request", token, p)
			}
		} else if connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%q: %v", token, err)
		}
		at := position{int32(partition), key}
		p, err := base.resume(at.token(base.fingerprint()))
		inside := partition >= 1 && partition <= 2 && base.contains(key)
		if inside != (err == nil) || inside && (p.partition != at.partition || !bytes.Equal(p.from, at.from)) {
			t.Errorf("%v came back as %v, %v", at, p, err)
		}
		other := base
		other.to = nil
		if _, err := other.resume(at.token(base.fingerprint())); err == nil {
			t.Errorf("a token of another request was accepted")
		}
	})
}

// FuzzScanStateJSON sends any body as a request. It is answered or rejected, and every returned
// entry was requested.
func FuzzScanStateJSON(f *testing.F) {
	for _, seed := range []string{
		`{"table":"spend"}`, `{"table":"1","prefix":"MDo="}`, `{"table":"spend","start":"MQ==","end":"Mg==","limit":3}`, `{"table":"255","limit":1e3}`,
		`{"table":"spend","partition":3,"limit":-5}`, `{"table":"spend","page_token":"AQAAAAAAAAAAAAA"}`, `{"table":"spend","max_staleness_ms":"1"}`, `{"app":"counter","table":"1"}`, `{"app":"other"}`, `{`, `null`,
	} {
		f.Add([]byte(seed))
	}
	state := filled()
	h := mustNew(f, changed(config(), func(c *Config) { c.Apps = []App{appOf(state, &fakePeers{})} })).dataHandler()
	f.Fuzz(func(t *testing.T, body []byte) {
		status, answer := post(t, h, scanState, string(body))
		if status != http.StatusOK && !strings.Contains(answer, `"code":"invalid_argument"`) && !strings.Contains(answer, `"code":"resource_exhausted"`) {
			t.Fatalf("%q got %d %s", body, status, answer)
		}
	})
}

package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/api/weirpb/weirpbconnect"
)

const listAdjustments = weirpbconnect.AdjustmentServiceListAdjustmentsProcedure

// fakeAdjustments has adjustments r00, r01 and so on of account a1.
type fakeAdjustments struct {
	n   int
	err error
}

func (f *fakeAdjustments) Adjustments(_ context.Context, q AdjustmentQuery) (*AdjustmentPage, error) {
	if f.err != nil {
		return nil, f.err
	}
	page := &AdjustmentPage{AsOf: &weirpb.AsOf{Partition: 5, NextOffsets: map[string]int64{"ads.adjustments": 9}}}
	for i := range f.n {
		a := &weirpb.Adjustment{Account: "a1", ReferenceId: fmt.Sprintf("r%02d", i), Micros: int64(i)}
		switch {
		case q.Account != "a1" || a.ReferenceId <= q.After:
		case len(page.Adjustments) == q.Limit:
			page.More = true
		default:
			page.Adjustments = append(page.Adjustments, a)
		}
	}
	return page, nil
}

// TestListAdjustments reads all adjustments in pages of any size.
func TestListAdjustments(t *testing.T) {
	cfg := config()
	cfg.Adjustments = &fakeAdjustments{n: 23}
	s := mustNew(t, cfg)
	run(t, s)
	c := NewClient(s.Addr())
	t.Cleanup(c.Close)
	for _, limit := range []int32{0, 1, 2, 5, 22, 23, 24, MaxAdjustments} {
		var all []string
		req := &weirpb.ListAdjustmentsRequest{Account: "a1", Limit: limit}
		for pages := 0; ; pages++ {
			res, err := c.ListAdjustments(t.Context(), req)
			if err != nil || res.AsOf.GetPartition() != 5 || pages > 23 || limit > 0 && len(res.Adjustments) > int(limit) {
				t.Fatalf("limit %d, page %d: %v, %v", limit, pages, res, err)
			}
			for _, a := range res.Adjustments {
				all = append(all, a.ReferenceId)
			}
			if req.PageToken = res.NextPageToken; req.PageToken == "" {
				break
			}
		}
		if len(all) != 23 || !slices.IsSorted(all) || len(slices.Compact(all)) != 23 {
			t.Errorf("limit %d: %q", limit, all)
		}
	}
	if _, err := c.ListAdjustments(t.Context(), &weirpb.ListAdjustmentsRequest{Account: "a2"}); connect.CodeOf(err) != connect.CodeNotFound {
		t.Error(err)
	}
}

// TestListAdjustmentsErrors covers every code. Each text states what to do.
func TestListAdjustmentsErrors(t *testing.T) {
	gone := &PartitionsError{Gaps: []PartitionGap{{5, "restoring", "42 % done"}}}
	token := position{from: []byte("r1")}.token(AdjustmentQuery{Account: "a2"}.fingerprint())
	for name, c := range map[string]struct {
		source AdjustmentSource
		body   string
		code   string
		text   string
	}{
		"no account":     {&fakeAdjustments{}, `{}`, "invalid_argument", "set account"},
		"NUL":            {&fakeAdjustments{}, `{"account":"a\u0000"}`, "invalid_argument", "NUL byte"},
		"limit":          {&fakeAdjustments{}, `{"account":"a1","limit":1001}`, "invalid_argument", "use 1 to 1000"},
		"negative limit": {&fakeAdjustments{}, `{"account":"a1","limit":-1}`, "invalid_argument", "use 1 to 1000"},
		"stale wait":     {&fakeAdjustments{}, `{"account":"a1","wait":true,"maxStalenessMs":5}`, "invalid_argument", "omit one"},
		"no token":       {&fakeAdjustments{}, `{"account":"a1","pageToken":"x"}`, "invalid_argument", "page_token"},
		"other's token":  {&fakeAdjustments{}, `{"account":"a1","pageToken":"` + token + `"}`, "invalid_argument", "another request"},
		"none":           {&fakeAdjustments{}, `{"account":"a1"}`, "not_found", "as of partition 5"},
		"away":           {&fakeAdjustments{err: gone}, `{"account":"a1"}`, "unavailable", "try again"},
		"not served":     {nil, `{"account":"a1"}`, "unimplemented", "role spendcounter"},
	} {
		cfg := config()
		cfg.Adjustments = c.source
		status, got := post(t, mustNew(t, cfg).dataHandler(), listAdjustments, c.body)
		if status == http.StatusOK || !strings.Contains(got, `"code":"`+c.code+`"`) || !strings.Contains(got, c.text) {
			t.Errorf("%s: %d %s, want %s with %q", name, status, got, c.code, c.text)
		}
	}
	cfg := config()
	cfg.Spend = nil
	if _, got := post(t, mustNew(t, cfg).dataHandler(), listAdjustments, `{"account":"a1"}`); !strings.Contains(got, "failed_precondition") {
		t.Errorf("a process without the counter: %s", got)
	}
}

// FuzzListAdjustmentsJSON sends any body as a request. The answer is always JSON with a code that a
// caller can cause, and nothing panics.
func FuzzListAdjustmentsJSON(f *testing.F) {
	for _, seed := range []string{`{"account":"a1"}`, `{"account":"a1","limit":1,"pageToken":"AQ"}`, `{"account":"\u0000"}`, `{"account":"a1","limit":1e9}`, `{`, ``} {
		f.Add([]byte(seed))
	}
	cfg := config()
	cfg.Adjustments = &fakeAdjustments{n: 3}
	h := mustNew(f, cfg).dataHandler()
	f.Fuzz(func(t *testing.T, body []byte) {
		status, answer := post(t, h, listAdjustments, string(body))
		var got struct{ Code, Message string }
		if err := json.Unmarshal([]byte(answer), &got); err != nil || !utf8.ValidString(answer) {
			t.Fatalf("%d %q: %v", status, answer, err)
		}
		if status != http.StatusOK && !slices.Contains([]string{"invalid_argument", "not_found", "resource_exhausted"}, got.Code) {
			t.Fatalf("%q got %d %s", body, status, answer)
		}
	})
}

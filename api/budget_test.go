package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/api/weirpb/weirpbconnect"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/pacing/budget"
)

const setBudgets = weirpbconnect.BudgetServiceSetBudgetsProcedure

// fakeBudgets is a BudgetSource and a BudgetSink in memory, with the rule of the real one.
type fakeBudgets struct {
	mu       sync.Mutex
	accounts map[string]budget.Versions
	written  int
	err      error            // of reads
	produce  error            // of writes
	other    *budget.Document // another writer's, which comes just before
}

func (f *fakeBudgets) Partitions() int32 { return fakePartitions }

func (f *fakeBudgets) Budgets(_ context.Context, account string, _ time.Duration) (budget.Versions, *weirpb.AsOf, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.accounts[account], &weirpb.AsOf{Partition: 1}, f.err
}

func (f *fakeBudgets) Page(_ context.Context, q PageQuery) (list []*budget.Document, more bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, account := range slices.Sorted(maps.Keys(f.accounts)) {
		if events.Shard(account, fakePartitions) != q.Partition {
			continue
		}
		for _, d := range f.accounts[account].List {
			key := budget.AppendKey(nil, d.Account, d.Version)
			switch {
			case string(key) < string(q.From) || q.To != nil && string(key) >= string(q.To):
			case len(list) == q.Limit:
				return list, true, f.err
			default:
				list = append(list, d)
			}
		}
	}
	return list, false, f.err
}

func (f *fakeBudgets) Produce(_ context.Context, list []*budget.Document) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.accounts == nil {
		f.accounts = map[string]budget.Versions{}
	}
	if f.other != nil {
		f.accounts[f.other.Account] = f.accounts[f.other.Account].Add(f.other)
	}
	f.written += len(list)
	for _, d := range list {
		f.accounts[d.Account] = f.accounts[d.Account].Add(d)
	}
	return f.produce
}

func document(account, daily, more string) string {
	return fmt.Sprintf(`{"account":%q,%s"time_zone":"UTC","currency":"EUR","campaigns":[{"campaign":"c","daily":%q}]}`, account, more, daily)
}

func request(documents ...string) string {
	return `{"documents":[` + strings.Join(documents, ",") + `]}`
}

// TestSetBudgets: a request is written as a whole or not at all; repeating it changes nothing; an
// older version is refused with both.
func TestSetBudgets(t *testing.T) {
	f := &fakeBudgets{}
	cfg := config()
	cfg.Budgets, cfg.BudgetSink = f, f
	h := mustNew(t, cfg).dataHandler()
	written := 0
	for i, c := range []struct {
		body   string
		status int
		want   string
		more   int // documents written
	}{
		{request(), 400, "send 1 to 1000", 0},
		{request(document("a", "1", ""), document("b", "-1", "")), 400, "nothing was written: documents[1]: campaigns[0].daily: the amount is negative", 0},
		{request(document("a", "1", ""), document("a", "2", "")), 400, `account \"a\" is in documents[0] too`, 0},
		{`{"documents":[` + document("a", "1", "") + `],"check_only":true}`, 200, `{"account":"a","version":"1"}`, 0},
		{request(document("a", "1", ""), document("b", "2", `"version":7,`)), 200, `{"account":"b","version":"7"}`, 2},
		{request(document("a", "1", ""), document("b", "2", `"version":7,`)), 200, `"unchanged":true`, 0},
		{request(document("a", "1.000", "")), 200, `"version":"1","replacedVersion":"1","unchanged":true`, 0},
		{request(document("c", "1", ""), document("b", "3", `"version":7,`)), 409, `account \"b\" has version 7, and the document has version 7`, 0},
		{request(document("b", "3", `"version":6,`)), 409, "has version 6", 0},
		{request(document("b", "3", "")), 200, `"version":"8","replacedVersion":"7"`, 1},
		{request(document("b", "4", `"version":9007199254740991,`)), 200, `"version":"9007199254740991"`, 1},
		{request(document("b", "5", "")), 409, "no version can follow", 0},
		{request(document("d", "5", `"version":1.5,`)), 400, "version: it has to be a positive integer", 0},
	} {
		status, answer := post(t, h, setBudgets, c.body)
		if status != c.status || !strings.Contains(strings.ReplaceAll(answer, " ", ""), strings.ReplaceAll(c.want, " ", "")) {
			t.Errorf("%d: %d %s, want %d %s", i, status, answer, c.status, c.want)
		}
		if written += c.more; f.written != written {
			t.Fatalf("%d: %d documents written, want %d", i, f.written, written)
		}
	}
}

// TestScheduledVersions: an account has 100 versions that hold later at most, and the text of the
// refusal has what to do. A version that was replaced long ago is not among those of the account.
func TestScheduledVersions(t *testing.T) {
	f := &fakeBudgets{accounts: map[string]budget.Versions{}}
	now := time.Now()
	var v budget.Versions
	for i := range uint64(budget.MaxScheduled + 2) {
		at := time.Duration(i) * time.Hour
		if i < 2 { // replaced 50 hours ago, and in force
			at = [...]time.Duration{-100 * time.Hour, -50 * time.Hour}[i]
		}
		v = v.Add(&budget.Document{Account: "a", Version: i + 1, Zone: "UTC", Currency: "EUR", EffectiveMs: now.Add(at).UnixMilli()})
	}
	f.accounts["a"] = v
	cfg := config()
	cfg.Budgets, cfg.BudgetSink = f, f
	h := mustNew(t, cfg).dataHandler()
	at := func(d time.Duration) string {
		return fmt.Sprintf(`"effective_from":%q,`, now.Add(d).UTC().Format(time.RFC3339))
	}
	if status, answer := post(t, h, setBudgets, request(document("a", "1", at(1000*time.Hour)))); status != 409 || f.written != 0 ||
		!strings.Contains(answer, `account \"a\": it would have 101 versions that hold later, and the maximum is 100`) {
		t.Errorf("%d %s", status, answer)
	}
	if status, answer := post(t, h, "/weir.v1.BudgetService/GetBudgets", `{"account":"a"}`); status != 200 ||
		strings.Contains(answer, `"version":"1",`) || !strings.Contains(answer, `"version":"2",`) || !strings.Contains(answer, `"version":"102",`) {
		t.Errorf("%d %.300s", status, answer)
	}
	earlier := document("a", "1", `"version":200,`+at(50*time.Hour))
	if status, answer := post(t, h, setBudgets, request(earlier)); status != 200 || f.written != 1 {
		t.Errorf("%d %s", status, answer)
	}
}

// TestSetBudgetsFailures: a process without budgets, a state that cannot be read, a broker that
// does not answer, and another writer have an error each.
func TestSetBudgetsFailures(t *testing.T) {
	if status, answer := post(t, mustNew(t, config()).dataHandler(), setBudgets, request(document("a", "1", ""))); status != http.StatusNotImplemented {
		t.Errorf("without budgets: %d %s", status, answer)
	}
	other, err := budget.Decode([]byte(document("a", "2", `"version":1,`)))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		f      *fakeBudgets
		status int
		want   string
	}{
		"state":        {&fakeBudgets{err: &PartitionsError{Gaps: []PartitionGap{{Partition: 3, State: "restoring"}}}}, 503, "cannot be read now"},
		"broker":       {&fakeBudgets{produce: errors.New("no broker")}, 503, "repeat the request: no broker"},
		"other writer": {&fakeBudgets{other: other}, 409, "another request has written version 1"},
	} {
		cfg := config()
		cfg.Budgets, cfg.BudgetSink = c.f, c.f
		if status, answer := post(t, mustNew(t, cfg).dataHandler(), setBudgets, request(document("a", "1", ""))); status != c.status || !strings.Contains(answer, c.want) {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
}

// TestListBudgets reads the versions of all accounts in pages of any size, each with its state.
func TestListBudgets(t *testing.T) {
	f := &fakeBudgets{}
	later := time.Now().Add(time.Hour).UnixMilli()
	for i := range 11 {
		account := fmt.Sprintf("a%02d", i)
		list := []*budget.Document{{Account: account, Version: 1, Zone: "UTC", Currency: "EUR", EffectiveMs: 1}}
		if i%2 == 0 {
			list = append(list, &budget.Document{Account: account, Version: 2, EffectiveMs: 5}, &budget.Document{Account: account, Version: 3, EffectiveMs: later})
		}
		if err := f.Produce(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	cfg := config()
	cfg.Budgets, cfg.BudgetSink = f, f
	s := mustNew(t, cfg)
	run(t, s)
	c := NewClient(s.Addr())
	t.Cleanup(c.Close)
	for _, limit := range []int32{0, 1, 2, 3, 5, 22, 23, 24} {
		var all []string
		req := &weirpb.ListBudgetsRequest{Limit: limit}
		for pages := 0; ; pages++ {
			res, err := c.ListBudgets(t.Context(), req)
			if err != nil || pages > 24 || limit > 0 && len(res.Versions) > int(limit) {
				t.Fatalf("limit %d, page %d: %v, %v", limit, pages, res, err)
			}
			for _, v := range res.Versions {
				all = append(all, fmt.Sprintf("%s %d %s", v.Account, v.Version, v.State))
			}
			if req.PageToken = res.NextPageToken; req.PageToken == "" {
				break
			}
		}
		slices.Sort(all)
		if len(all) != 23 || all[0] != "a00 1 replaced" || all[1] != "a00 2 in_force" || all[2] != "a00 3 scheduled" || all[3] != "a01 1 in_force" {
			t.Errorf("limit %d: %q", limit, all)
		}
	}
	res, err := c.GetBudgets(t.Context(), &weirpb.GetBudgetsRequest{Account: "a00"})
	if err != nil || len(res.Versions) != 2 || res.Versions[0].State != "in_force" || res.Versions[0].Document.Fields["version"].GetNumberValue() != 2 {
		t.Errorf("%v, %v", res, err)
	}
	for _, req := range []*weirpb.GetBudgetsRequest{{}, {Account: "none"}, {Account: "a\x00"}, {Account: "a", MaxStalenessMs: -1}} {
		_, err := c.GetBudgets(t.Context(), req)
		want := connect.CodeInvalidArgument
		if req.Account == "none" {
			want = connect.CodeNotFound
		}
		if cmp.Or(connect.CodeOf(err), want) != want || err == nil {
			t.Errorf("%v: %v", req, err)
		}
	}
}

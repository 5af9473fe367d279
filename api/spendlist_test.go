package api

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/api/weirpb/weirpbconnect"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// spenders starts two processes, each with two partitions, and returns all campaign days: of six
// accounts with up to five campaigns, four days and two currencies.
func spenders(t *testing.T, seed uint64) (a, b *member, all []*eventspb.Spend) {
	t.Helper()
	a, b, _ = pair(t)
	rng := rand.New(rand.NewPCG(seed, 1))
	for account := range 6 {
		for campaign := range 1 + rng.IntN(5) {
			for day := range 4 {
				for _, currency := range []string{"EUR", "USD"} {
					if rng.IntN(3) == 0 {
						continue
					}
					s := record(20131018+int32(day), "local", uint64(rng.IntN(4)), uint64(rng.IntN(3)))
					s.Account, s.Campaign, s.Currency = fmt.Sprint("a", account), fmt.Sprint("c", campaign), currency
					all = append(all, s)
				}
			}
		}
	}
	for _, s := range all {
		p := events.Shard(s.Account, fakePartitions)
		m := []*member{a, a, b, b}[p]
		m.parts[p].spends = append(m.parts[p].spends, s)
	}
	return a, b, all
}

// rowsOf sums the campaign days that match, by the text of place.
func rowsOf(all []*eventspb.Spend, match func(*eventspb.Spend) bool, place func(*weirpb.SpendRow)) []*weirpb.SpendRow {
	sums := map[string]*weirpb.SpendRow{}
	var rows []*weirpb.SpendRow
	for _, s := range all {
		if !match(s) {
			continue
		}
		row := &weirpb.SpendRow{Account: s.Account, Campaign: s.Campaign, Day: dayText(s.BudgetDay), Currency: s.Currency}
		place(row)
		key := fmt.Sprint(row.Campaign, " ", row.Day, " ", row.Currency)
		if sums[key] == nil {
			sums[key] = row
			rows = append(rows, row)
		}
		is, by := sums[key], s.ByDc[0]
		is.ChargedMicros += by.ChargedMicros
		is.RefundedMicros += by.RefundedMicros
		is.Impressions += by.Events[0].Count
		is.Clicks += by.Events[1].Count
		is.Events = is.Impressions + is.Clicks
		is.Duplicates += s.Duplicates
	}
	slices.SortFunc(rows, compareRows)
	return rows
}

// TestListSpend reads lists of any kind in pages of any size, from the owner and from the other
// process, and compares them with sums over all campaign days.
func TestListSpend(t *testing.T) {
	a, b, all := spenders(t, 7)
	for _, s := range all { // some campaigns have a lifetime row
		if s.BudgetDay == 20131018 && s.Campaign != "c1" {
			s.BudgetDay = 0
		}
	}
	places := map[string]func(*weirpb.SpendRow){
		"": func(*weirpb.SpendRow) {}, "day": func(r *weirpb.SpendRow) { r.Campaign = "" },
		"campaign": func(r *weirpb.SpendRow) { r.Day = "" }, "account": func(r *weirpb.SpendRow) { r.Campaign, r.Day = "", "" },
	}
	served := map[string]int{}
	for i := range 240 {
		req := &weirpb.ListSpendRequest{
			Account: fmt.Sprint("a", i%6), By: []string{"", "day", "campaign", "account"}[i/6%4], Limit: int32(1 + i%5), Currency: []string{"", "", "USD"}[i%3],
			From: []string{"", "2013-10-19"}[i%2], To: []string{"", "", "", "", "2013-10-20"}[i%5],
		}
		want := rowsOf(all, func(s *eventspb.Spend) bool {
			return s.Account == req.Account && (req.Currency == "" || s.Currency == req.Currency) && (req.From == "" || s.BudgetDay >= 20131019) && (req.To == "" || s.BudgetDay != 0 && s.BudgetDay <= 20131020)
		}, places[req.By])
		var got []*weirpb.SpendRow
		for pages := 0; ; pages++ {
			res, err := []*member{a, b}[(i+pages)%2].client.ListSpend(t.Context(), req)
			if len(want) == 0 && connect.CodeOf(err) == connect.CodeNotFound && strings.Contains(err.Error(), "as of partition") {
				break
			}
			if err != nil || pages > len(want) || req.By != "campaign" && len(res.Rows) > int(req.Limit) {
				t.Fatalf("%v: page %d, %d rows, %v", req, pages, len(res.GetRows()), err)
			}
			served[res.AsOf.ServedBy.Instance]++
			got = append(got, res.Rows...)
			if req.PageToken = res.NextPageToken; req.PageToken == "" {
				break
			}
		}
		if d := gocmp.Diff(want, got, protocmp.Transform()); d != "" {
			t.Fatalf("%v: %s", req, d)
		}
	}
	if served["weir-a"] == 0 || served["weir-b"] == 0 {
		t.Errorf("served by %v", served)
	}
}

// TestTopSpend compares rankings over all partitions with a sort of all campaign days.
func TestTopSpend(t *testing.T) {
	a, b, all := spenders(t, 8)
	for i := range 192 {
		first, last := int32(18+i%4), int32(18+i%4)
		req := &weirpb.TopSpendRequest{
			Day: fmt.Sprint("2013-10-", first), By: []string{"", "charged", "events"}[i%3], Limit: int32(1 + i%7), Currency: []string{"", "EUR"}[i/2%2],
			Account: []string{"", "", "a1", "a4"}[i/4%4],
		}
		days := " on " + req.Day
		if i >= 96 { // the first bound, the last one, or both
			req.From, req.To, req.Day = req.Day, fmt.Sprint("2013-10-", first+1), ""
			days, last = fmt.Sprintf(" from %s to %s", req.From, req.To), first+1
			switch i % 5 {
			case 0:
				req.From, first = "", 0
			case 1:
				req.To, last = "", 31
			}
		}
		all := rowsOf(all, func(s *eventspb.Spend) bool {
			day := s.BudgetDay % 100
			return day >= first && day <= last && (req.Currency == "" || s.Currency == req.Currency) && (req.Account == "" || s.Account == req.Account)
		}, func(r *weirpb.SpendRow) {
			if r.Campaign = r.Account + "/" + r.Campaign; req.Day == "" {
				r.Day = ""
			}
		})
		slices.SortFunc(all, func(x, y *weirpb.SpendRow) int {
			by := cmp.Compare(y.ChargedMicros, x.ChargedMicros)
			if req.By == "events" {
				by = cmp.Compare(y.Events, x.Events)
			}
			return cmp.Or(cmp.Compare(x.Currency, y.Currency), by, cmp.Compare(x.Campaign, y.Campaign))
		})
		var want []*weirpb.SpendRow
		of := map[string]int32{}
		for _, r := range all {
			if of[r.Currency]++; of[r.Currency] <= req.Limit {
				r.Account, r.Campaign, _ = strings.Cut(r.Campaign, "/")
				want = append(want, r)
			}
		}
		res, err := []*member{a, b}[i%2].client.TopSpend(t.Context(), req)
		if len(want) == 0 && connect.CodeOf(err) == connect.CodeNotFound && strings.Contains(err.Error(), "has spend"+days) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if d := gocmp.Diff(want, res.Rows, protocmp.Transform()); d != "" {
			t.Fatalf("%v: %s", req, d)
		}
		if n := map[bool]int{true: fakePartitions, false: 1}[req.Account == ""]; len(res.AsOf) != n || !slices.IsSortedFunc(res.AsOf, func(x, y *weirpb.AsOf) int { return int(x.Partition - y.Partition) }) {
			t.Fatalf("%v: as of %v", req, res.AsOf)
		}
	}
	b.is(3, "restoring", 0)
	if _, err := a.client.TopSpend(t.Context(), &weirpb.TopSpendRequest{Day: "2013-10-18"}); connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), "partition 3") {
		t.Errorf("a partition is missing: %v", err)
	}
}

// TestListRefuses covers requests that are invalid, and sums that do not fit.
func TestListRefuses(t *testing.T) {
	state := filled()
	h := mustNew(t, changed(config(), func(c *Config) { c.Apps, c.SpendApp = []App{appOf(state, &fakePeers{})}, "counter" })).dataHandler()
	p := events.Shard("a1", fakePartitions)
	for day := range int32(2) {
		s := record(20131019+day, "local", 1, 1)
		s.ByDc[0].ChargedMicros = math.MaxInt64
		state.parts[p].spends = append(state.parts[p].spends, s)
	}
	const list, top = weirpbconnect.SpendServiceListSpendProcedure, weirpbconnect.SpendServiceTopSpendProcedure
	for body, want := range map[string]string{
		`{}`:                                                     "set account",
		`{"account":"a\u0000b"}`:                                 "NUL byte",
		`{"account":"a1","by":"minute"}`:                         "use day, hour, campaign, account, line-item or arm",
		`{"account":"a1","limit":10001}`:                         "1 to 10000",
		`{"account":"a1","currency":"usd"}`:                      "three capital letters",
		`{"account":"a1","from":"today"}`:                        "YYYY-MM-DD",
		`{"account":"a1","from":"2013-10-20","to":"2013-10-19"}`: "exchange the two days",
		`{"account":"a1","page_token":"AQ"}`:                     "page_token",
		`{"account":"a1","by":"campaign"}`:                       "does not fit 64 bits",
		`{"account":"a9"}`:                                       "has no spend",
	} {
		if status, answer := post(t, h, list, body); status == http.StatusOK || !strings.Contains(answer, want) {
			t.Errorf("list %s: %d %s", body, status, answer)
		}
	}
	for body, want := range map[string]string{
		`{}`: "set day",
		`{"from":"2013-10-20","to":"2013-10-19"}`:            "exchange the two days",
		`{"from":"today"}`:                                   "YYYY-MM-DD",
		`{"day":"2013-10-19","to":"2013-10-19"}`:             "day excludes from and to",
		`{"from":"2012-01-01","to":"2012-01-31"}`:            "no campaign has spend from 2012-01-01 to 2012-01-31",
		`{"day":"2013-10-19","by":"clicks"}`:                 "use charged or events",
		`{"day":"2013-10-19","limit":101}`:                   "1 to 100",
		`{"day":"2013-10-19","partition":9}`:                 "partition 9 does not exist",
		`{"day":"2013-10-19","account":"a1","currency":"x"}`: "three capital letters",
	} {
		if status, answer := post(t, h, top, body); status == http.StatusOK || !strings.Contains(answer, want) {
			t.Errorf("top %s: %d %s", body, status, answer)
		}
	}
	if status, answer := post(t, mustNew(t, config()).dataHandler(), list, `{"account":"a1"}`); status != http.StatusNotImplemented || !strings.Contains(answer, "serves no lists") {
		t.Errorf("without state: %d %s", status, answer)
	}
	if status, answer := post(t, h, getSpend, `{"campaign":"c\u00001"}`); status == http.StatusOK || !strings.Contains(answer, "NUL byte") {
		t.Errorf("a NUL byte in a campaign: %d %s", status, answer)
	}
}

// FuzzListSpend sends any body as a request of both kinds. It is answered or rejected, and every
// row is of the account.
func FuzzListSpend(f *testing.F) {
	for _, seed := range []string{
		`{"account":"a1"}`, `{"account":"a1","by":"day","limit":1}`, `{"account":"a1","from":"2013-10-19","to":"2013-10-20"}`, `{"day":"2013-10-19"}`,
		`{"account":"a1","page_token":"AQAAAAAAAAAAAAA"}`, `{"day":"2013-10-19","by":"events","partition":2}`, `{"account":"\u0000"}`, `{`, `null`,
	} {
		f.Add([]byte(seed))
	}
	state := filled()
	p := events.Shard("a1", fakePartitions)
	state.parts[p].spends = []*eventspb.Spend{record(20131019, "local", 1, 1), record(20131020, "local", 2, 1)}
	h := mustNew(f, changed(config(), func(c *Config) { c.Apps, c.SpendApp = []App{appOf(state, &fakePeers{})}, "counter" })).dataHandler()
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, path := range []string{weirpbconnect.SpendServiceListSpendProcedure, weirpbconnect.SpendServiceTopSpendProcedure} {
			status, answer := post(t, h, path, string(body))
			if status == http.StatusOK && !strings.Contains(answer, `"account":"a1"`) && !strings.Contains(answer, `"as_of"`) && !strings.Contains(answer, `"asOf"`) {
				t.Fatalf("%s %q got %s", path, body, answer)
			}
			for _, bad := range []string{`"code":"internal"`, `"code":"unknown"`} {
				if strings.Contains(answer, bad) {
					t.Fatalf("%s %q got %d %s", path, body, status, answer)
				}
			}
		}
	})
}

// TestHoursAddUp: the rows by hour of an account add up to its sum, whatever has an hour.
func TestHoursAddUp(t *testing.T) {
	l := spendList{q: listQuery{account: "a", by: byHour, limit: 100}}
	day := func(day int32, charged int64, events uint64, hours ...*eventspb.HourSpend) {
		s := &eventspb.Spend{Account: "a", Campaign: "c", BudgetDay: day, Currency: "USD", Duplicates: 1, Hours: hours, ByDc: []*eventspb.SpendByDC{
			{ServingDc: "x", ChargedMicros: charged - 1, Events: []*eventspb.TypeCount{{Type: 1, Count: events}}},
			{ServingDc: "y", ChargedMicros: 1, RefundedMicros: 2},
		}}
		if err := l.add(nil, s); err != nil {
			t.Fatal(err)
		}
	}
	day(0, 100, 10)
	day(20131018, 50, 5, &eventspb.HourSpend{Hour: 384_456, ChargedMicros: 30, Events: 3}, &eventspb.HourSpend{Hour: 384_454, ChargedMicros: 20, Events: 2})
	day(20131019, 9, 3, &eventspb.HourSpend{Hour: 384_456, ChargedMicros: 4, Events: 1})
	res, err := l.answer(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []*weirpb.SpendRow{
		{Account: "a", Hour: "2013-11-09T22:00Z", Currency: "USD", ChargedMicros: 20, Events: 2},
		{Account: "a", Hour: "2013-11-10T00:00Z", Currency: "USD", ChargedMicros: 34, Events: 4},
		{Account: "a", Hour: "other", Currency: "USD", ChargedMicros: 105, RefundedMicros: 6, Events: 12, Duplicates: 3},
	}
	if d := gocmp.Diff(want, res.Rows, protocmp.Transform()); d != "" {
		t.Fatal(d)
	}
}

// TestPartsAddUp: the rows by line item, and those by arm, add up to the account's sum. A line item
// may have the name of anything else.
func TestPartsAddUp(t *testing.T) {
	part := func(lineItem, arm string, charged int64, events uint64) *eventspb.PartSpend {
		return &eventspb.PartSpend{LineItem: lineItem, Arm: arm, ChargedMicros: charged, Events: events}
	}
	rest := &weirpb.SpendRow{Account: "a", Currency: "USD", ChargedMicros: 20, RefundedMicros: 4, Events: 4, Duplicates: 2}
	armless := proto.CloneOf(rest)
	armless.ChargedMicros, armless.Events = rest.ChargedMicros+30, rest.Events+3
	for by, want := range map[string][]*weirpb.SpendRow{
		byLineItem: {
			rest,
			{Account: "a", Currency: "USD", LineItem: "USD", ChargedMicros: 30, Events: 3},
			{Account: "a", Currency: "USD", LineItem: "l1", ChargedMicros: 60, Events: 6},
		},
		byArm: {
			armless,
			{Account: "a", Currency: "USD", Arm: "x", ChargedMicros: 35, Events: 4},
			{Account: "a", Currency: "USD", Arm: "y", ChargedMicros: 25, Events: 2},
		},
	} {
		l := spendList{q: listQuery{account: "a", by: by, limit: 100}}
		for i, parts := range [][]*eventspb.PartSpend{
			{part("l1", "x", 15, 2), part("USD", "", 30, 3), part("", "", 10, 1)}, // the last one: beyond the bound
			{part("l1", "x", 20, 2), part("l1", "y", 25, 2)},
		} {
			for _, p := range parts {
				l.addPart(p)
			}
			err := l.add(nil, &eventspb.Spend{Account: "a", Campaign: "c", BudgetDay: 20231108 + int32(i), Currency: "USD", Duplicates: 1, ByDc: []*eventspb.SpendByDC{
				{ServingDc: "x", ChargedMicros: 55, RefundedMicros: 2, Events: []*eventspb.TypeCount{{Type: 1, Count: []uint64{8, 5}[i]}}},
			}})
			if err != nil {
				t.Fatal(err)
			}
		}
		res, err := l.answer(nil)
		if err != nil {
			t.Fatal(err)
		}
		if d := gocmp.Diff(want, res.Rows, protocmp.Transform()); d != "" {
			t.Errorf("by %s: %s", by, d)
		}
	}
}

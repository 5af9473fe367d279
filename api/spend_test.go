package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/api/weirpb/weirpbconnect"
	"github.com/weirhq/weir/events/eventspb"
)

const getSpend = weirpbconnect.SpendServiceGetSpendProcedure

func TestGetSpend(t *testing.T) {
	asOf := func(eventMs int64) *weirpb.AsOf {
		return &weirpb.AsOf{Partition: 5, NextOffsets: map[string]int64{"ads.events": 1234}, EventMs: eventMs, AppliedMs: 1700000000500}
	}
	day19 := &weirpb.DaySpend{Day: "2013-10-19", ChargedMicros: 30000, RefundedMicros: 7, Events: 32, Duplicates: 2}
	for name, c := range map[string]struct {
		body string
		want *weirpb.GetSpendResponse
	}{
		"all days": {`{"campaign":"c1"}`, &weirpb.GetSpendResponse{
			Campaign: "c1", Account: "a1", Day: "all", Currency: "CNY", ChargedMicros: 42000, RefundedMicros: 21,
			Impressions: 42, Clicks: 3, Events: 45, Duplicates: 6, AsOf: asOf(201310210),
			Days: []*weirpb.DaySpend{
				day19,
				{Day: "2013-10-20", ChargedMicros: 10000, RefundedMicros: 7, Events: 11, Duplicates: 2},
				{Day: "2013-10-21", ChargedMicros: 2000, RefundedMicros: 7, Events: 2, Duplicates: 2},
			},
			EventsByType: map[string]uint64{"impression": 42, "click": 3},
			ByDc: []*weirpb.DcSpend{
				{ServingDc: "east", ChargedMicros: 2000, RefundedMicros: 7, Events: 2},
				{ServingDc: "local", ChargedMicros: 40000, RefundedMicros: 14, Events: 43},
			},
		}},
		"one day, everything named": {`{"campaign":"c1","account":"a1","currency":"CNY","day":"2013-10-19","wait":true}`, &weirpb.GetSpendResponse{
			Campaign: "c1", Account: "a1", Day: "2013-10-19", Currency: "CNY", ChargedMicros: 30000, RefundedMicros: 7,
			Impressions: 30, Clicks: 2, Events: 32, Duplicates: 2, AsOf: asOf(201310190), Days: []*weirpb.DaySpend{day19},
			EventsByType: map[string]uint64{"impression": 30, "click": 2},
			ByDc:         []*weirpb.DcSpend{{ServingDc: "local", ChargedMicros: 30000, RefundedMicros: 7, Events: 32}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := post(t, mustNew(t, config()).dataHandler(), getSpend, c.body)
			got := &weirpb.GetSpendResponse{}
			if err := protojson.Unmarshal([]byte(body), got); err != nil || status != http.StatusOK {
				t.Fatalf("%d %s: %v", status, body, err)
			}
			if d := cmp.Diff(c.want, got, protocmp.Transform()); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestGetSpendErrors covers every code of GetSpend. Each text states what to do.
func TestGetSpendErrors(t *testing.T) {
	other := func(change func(*eventspb.Spend)) []*eventspb.Spend {
		return []*eventspb.Spend{record(20131019, "local", 1, 0), with(record(20131020, "local", 1, 0), change)}
	}
	huge := func(s *eventspb.Spend) { s.ByDc[0].ChargedMicros = math.MaxInt64 - 999 }
	for name, c := range map[string]struct {
		spend *fakeSpend // nil: the source of config
		body  string
		code  string
		texts []string
	}{
		"no campaign":      {nil, `{}`, "invalid_argument", []string{"has no campaign", "set campaign"}},
		"misspelt field":   {nil, `{"campagin":"c1"}`, "invalid_argument", []string{"has no campaign"}},
		"day in words":     {nil, `{"campaign":"c1","day":"yesterday"}`, "invalid_argument", []string{`day "yesterday"`, "YYYY-MM-DD"}},
		"day beyond month": {nil, `{"campaign":"c1","day":"2013-02-29"}`, "invalid_argument", []string{"YYYY-MM-DD"}},
		"day without dash": {nil, `{"campaign":"c1","day":"20131019"}`, "invalid_argument", []string{"YYYY-MM-DD"}},
		"currency":         {nil, `{"campaign":"c1","currency":"yen"}`, "invalid_argument", []string{`currency "yen"`, "USD"}},
		"id too long":      {nil, `{"campaign":"` + strings.Repeat("c", maxIDBytes+1) + `"}`, "invalid_argument", []string{"4097 bytes"}},
		"not JSON":         {nil, `{"campaign":`, "invalid_argument", nil},
		"unknown campaign": {
			nil, `{"campaign":"c9"}`, "not_found",
			[]string{`campaign "c9"`, "in datacentre local", "as of partition 5 (ads.events up to offset 1234):", "check the id", "may not be counted yet"},
		},
		"unknown in account": {nil, `{"campaign":"c1","account":"a9"}`, "not_found", []string{`campaign "c1" of account "a9"`}},
		"no such day":        {nil, `{"campaign":"c1","day":"2013-10-22"}`, "not_found", []string{"2013-10-22", "from 2013-10-19 to 2013-10-21 (3 days)"}},
		"no such currency":   {nil, `{"campaign":"c1","currency":"USD"}`, "not_found", []string{"no spend in USD", `"CNY"`}},
		"two accounts": {
			&fakeSpend{records: other(func(s *eventspb.Spend) { s.Account = "a2" })}, `{"campaign":"c1","day":"2013-10-19"}`,
			"failed_precondition",
			[]string{`2 accounts (charged on 2013-10-19: "a1" 0.001000 CNY; "a2" 0.000000 CNY)`, "set account"},
		},
		"two accounts, all days": {
			&fakeSpend{records: append(other(func(s *eventspb.Spend) { s.Account = "a2" }), other(func(s *eventspb.Spend) {
				s.Account, s.Currency = "a2", "USD"
				s.ByDc[0].ChargedMicros = math.MaxInt64
			})[1], with(record(20131021, "local", 1, 0), func(s *eventspb.Spend) { s.Account, s.Currency = "a2", "USD" }))}, `{"campaign":"c1"}`,
			"failed_precondition",
			[]string{`2 accounts (charged: "a1" 0.001000 CNY; "a2" 0.001000 CNY and more than 9223372036854.775807 USD)`, "set account"},
		},
		"two accounts, one currency": {
			&fakeSpend{records: other(func(s *eventspb.Spend) { s.Account, s.Currency = "a2", "USD" })}, `{"campaign":"c1","currency":"USD"}`,
			"failed_precondition",
			[]string{`2 accounts (charged: "a1" nothing in USD; "a2" 0.001000 USD)`, "set account"},
		},
		"two currencies": {
			&fakeSpend{records: other(func(s *eventspb.Spend) { s.Currency = "USD" })}, `{"campaign":"c1","day":"2013-10-19"}`,
			"failed_precondition",
			[]string{`2 currencies (charged on 2013-10-19: 0.001000 CNY and 0.000000 USD)`, "set currency"},
		},
		"restoring": {
			&fakeSpend{err: fmt.Errorf("look up: %w", &PartitionsError{Gaps: []PartitionGap{{3, "restoring", "42 % done"}, {4, "elsewhere", ""}}})},
			`{"campaign":"c1"}`, "unavailable",
			[]string{"partition 3 is restoring (42 % done), the process that answered does not own partition 4", "try again"},
		},
		"nothing readable": {&fakeSpend{noAsOf: true}, `{"campaign":"c1"}`, "unavailable", []string{"can read no partition", "/readyz"}},
		"wait too long": {
			&fakeSpend{wait: func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }},
			`{"campaign":"c1","wait":true}`, "deadline_exceeded",
			[]string{"not folded yet", "lag of the partitions"},
		},
		"wait, restoring": {
			&fakeSpend{wait: func(context.Context, string) error {
				return &PartitionsError{Gaps: []PartitionGap{{Partition: 3, State: "restoring"}}}
			}},
			`{"campaign":"c1","wait":true}`, "unavailable",
			[]string{"partition 3 is restoring"},
		},
		"slow source":  {&fakeSpend{err: context.DeadlineExceeded}, `{"campaign":"c1"}`, "deadline_exceeded", []string{"send the request again"}},
		"caller left":  {&fakeSpend{err: context.Canceled}, `{"campaign":"c1"}`, "canceled", []string{"send it again"}},
		"broken store": {&fakeSpend{err: errors.New("block 7 is corrupt")}, `{"campaign":"c1"}`, "internal", []string{"block 7 is corrupt", "see the log"}},
		"wrong campaign": {
			&fakeSpend{everyone: true, records: []*eventspb.Spend{record(20131019, "local", 1, 0)}}, `{"campaign":"c2"}`,
			"internal",
			[]string{`for campaign "c2"`, "report"},
		},
		"wrong account": {
			&fakeSpend{everyone: true, records: []*eventspb.Spend{record(20131019, "local", 1, 0)}}, `{"campaign":"c1","account":"a2"}`,
			"internal",
			[]string{`for account "a2"`},
		},
		"one record twice": {
			&fakeSpend{records: []*eventspb.Spend{record(20131019, "local", 1, 0), record(20131019, "local", 1, 0)}}, `{"campaign":"c1"}`,
			"internal",
			[]string{"2013-10-19, CNY twice"},
		},
		"no as_of": {&fakeSpend{noAsOf: true, records: []*eventspb.Spend{record(20131019, "local", 1, 0)}}, `{"campaign":"c1"}`, "internal", []string{"as_of"}},
		"panic":    {&fakeSpend{during: func(context.Context) { panic("boom") }}, `{"campaign":"c1"}`, "internal", []string{"api.panic"}},
		"micros overflow": {
			&fakeSpend{records: other(huge)}, `{"campaign":"c1"}`, "out_of_range",
			[]string{"charged_micros", "day by day"},
		},
		"count overflow": {
			&fakeSpend{records: other(func(s *eventspb.Spend) { s.ByDc[0].Events[0].Count = math.MaxUint64 })}, `{"campaign":"c1"}`,
			"out_of_range",
			[]string{"events"},
		},
		"body too large": {nil, `{"campaign":"` + strings.Repeat("c", maxBodyBytes) + `"}`, "resource_exhausted", nil},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config()
			cfg.WaitLimit = time.Millisecond
			if c.spend != nil {
				c.spend.partition = 5
				cfg.Spend = c.spend
			}
			status, body := post(t, mustNew(t, cfg).dataHandler(), getSpend, c.body)
			var got struct {
				Code, Message string
				Details       []struct{ Type string }
			}
			if err := json.Unmarshal([]byte(body), &got); err != nil || status == http.StatusOK {
				t.Fatalf("%d %s: %v", status, body, err)
			}
			if got.Code != c.code {
				t.Errorf("code %s, want %s: %s", got.Code, c.code, got.Message)
			}
			for _, want := range c.texts {
				if !strings.Contains(got.Message, want) {
					t.Errorf("message %q lacks %q", got.Message, want)
				}
			}
			if (c.code == "not_found" || c.code == "failed_precondition" || c.code == "out_of_range") &&
				(len(got.Details) != 1 || got.Details[0].Type != "weir.v1.AsOf") {
				t.Errorf("details %v, want one AsOf", got.Details)
			}
		})
	}
}

// TestOverflowDayByDay: days whose sum does not fit can be requested one by one, as the error
// states.
func TestOverflowDayByDay(t *testing.T) {
	cfg := config()
	cfg.Spend = &fakeSpend{records: []*eventspb.Spend{
		record(20131019, "local", 1, 0),
		with(record(20131020, "local", 1, 0), func(s *eventspb.Spend) { s.ByDc[0].ChargedMicros = math.MaxInt64 }),
	}}
	status, body := post(t, mustNew(t, cfg).dataHandler(), getSpend, `{"campaign":"c1","day":"2013-10-20"}`)
	if status != http.StatusOK || !strings.Contains(body, `"9223372036854775807"`) {
		t.Errorf("%d %s", status, body)
	}
}

func TestWaitAsksForTheAccount(t *testing.T) {
	cfg := config()
	var asked []string
	cfg.Spend.(*fakeSpend).wait = func(_ context.Context, account string) error {
		asked = append(asked, account)
		return nil
	}
	h := mustNew(t, cfg).dataHandler()
	for _, body := range []string{`{"campaign":"c1"}`, `{"campaign":"c1","wait":true}`, `{"campaign":"c1","account":"a1","wait":true}`} {
		if status, got := post(t, h, getSpend, body); status != http.StatusOK {
			t.Fatalf("%d %s", status, got)
		}
	}
	if d := cmp.Diff([]string{"", "a1"}, asked); d != "" {
		t.Error(d)
	}
}

// TestAsOfText: the text is short for any number of partitions and topics.
func TestAsOfText(t *testing.T) {
	at := func(partition int32, next map[string]int64) *weirpb.AsOf {
		return &weirpb.AsOf{Partition: partition, NextOffsets: next}
	}
	var all []*weirpb.AsOf
	for i := range int32(24) {
		all = append(all, at(i, map[string]int64{
			"ads.events": int64(660_471 - (i-4)*(i-4)), "ads.events.from.dc-b": math.MaxInt64, "ads.adjustments": 7,
		}))
	}
	for want, read := range map[string][]*weirpb.AsOf{
		"24 partitions (ads.events up to offset 660471; the greatest is in partition 4)": all,
		"partition 7 (ads.events up to offset 660462)":                                   all[7:8],
		"partition 3 (ads.events up to offset 0)":                                        {at(3, map[string]int64{"ads.events": 0})},
		"2 partitions (ads.events up to offset 0; the greatest is in partition 9)":       {at(3, nil), at(9, map[string]int64{"ads.events": 0})},
		"partition 2 (ads.events.g2 up to offset 5)":                                     {at(2, map[string]int64{"ads.events.g2": 5, "ads.events.from.dc-b.g2": 9})},
		"partition 3":  {at(3, map[string]int64{"ads.adjustments": 7})}, // unknown is not 0
		"2 partitions": {at(3, nil), at(4, nil)},
	} {
		if got := asOfText(read); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

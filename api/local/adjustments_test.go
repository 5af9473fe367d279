package local

import (
	"fmt"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/spendcounter/spendpb"
)

// TestAdjustments reads pages of references: of one account among others, over-refunded or not.
func TestAdjustments(t *testing.T) {
	r := newRawState(t)
	r.put(spendcounter.TableTask, []byte(spendcounter.TaskKey), &spendpb.TaskState{TimestampMs: 1, Layout: 2})
	usd := events.Currency('U'<<16 | 'S'<<8 | 'D')
	for campaign, refunded := range map[string]int64{"even": 30, "over": 31} {
		r.put(spendcounter.TableSpend, spendcounter.AppendKey(nil, []byte("a"), []byte(campaign), 20240101, usd), &eventspb.Spend{
			Account: "a", Campaign: campaign, BudgetDay: 20240101, Currency: "USD",
			ByDc: []*eventspb.SpendByDC{{ServingDc: "eu", ChargedMicros: 10, RefundedMicros: refunded}, {ServingDc: "us", ChargedMicros: 20}},
		})
	}
	for i, campaign := range []string{"even", "over", "never charged", "over"} {
		for _, account := range []string{"a", "ab"} {
			key := append(spendcounter.ReferencePrefix(account), fmt.Sprint("r", i)...)
			r.put(spendcounter.TableReferences, key, &spendpb.AppliedAdjustment{
				Campaign: campaign, BudgetDay: 20240101, Currency: "USD", Micros: int64(i + 1), ServingDc: "eu", Reason: "refund", IngestMs: 7, Duplicates: 3, Conflicts: 2,
			})
		}
	}
	if err := r.page(); err != nil {
		t.Fatal(err)
	}
	f := &api.SpendReader{State: r.reader, Shards: 1}
	want := []string{
		`account:"a" reference_id:"r0" campaign:"even" day:"2024-01-01" currency:"USD" micros:1 serving_dc:"eu" reason:"refund" ingest_ms:7 duplicates:3 conflicts:2 over_refunded:false`,
		`r1 over 2 true`, `r2 never charged 3 false`, `r3 over 4 true`,
	}
	for limit := 1; limit <= 5; limit++ {
		var got []string
		for q := (api.AdjustmentQuery{Account: "a", Limit: limit}); ; {
			page, err := f.Adjustments(t.Context(), q)
			if err != nil || page.AsOf == nil || len(page.Adjustments) > limit {
				t.Fatalf("limit %d: %v, %v", limit, page, err)
			}
			for _, a := range page.Adjustments {
				text := fmt.Sprint(a.ReferenceId, " ", a.Campaign, " ", a.Micros, " ", a.OverRefunded)
				if len(got) == 0 {
					text = fmt.Sprintf("account:%q reference_id:%q campaign:%q day:%q currency:%q micros:%d serving_dc:%q reason:%q ingest_ms:%d duplicates:%d conflicts:%d over_refunded:%t",
						a.Account, a.ReferenceId, a.Campaign, a.Day, a.Currency, a.Micros, a.ServingDc, a.Reason, a.IngestMs, a.Duplicates, a.Conflicts, a.OverRefunded)
				}
				got = append(got, text)
				q.After = a.ReferenceId
			}
			if !page.More {
				break
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("limit %d:\n%q\nwant\n%q", limit, got, want)
		}
	}
	r.putValue(spendcounter.TableReferences, []byte("a\x00r5"), []byte("torn"))
	if err := r.page(); err != nil {
		t.Fatal(err)
	}
	if page, err := f.Adjustments(t.Context(), api.AdjustmentQuery{Account: "a", Limit: 9}); err == nil {
		t.Errorf("a torn value is read as %v", page)
	}
}

package render

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/api/weirpb"
)

func TestMoney(t *testing.T) {
	for micros, want := range map[int64]string{
		0: "0.000000", 1: "0.000001", -1: "-0.000001", 999_999: "0.999999", 1_000_000: "1.000000", 147_125_090: "147.125090",
		-1_500_000: "-1.500000", math.MaxInt64: "9223372036854.775807", math.MinInt64: "-9223372036854.775808",
	} {
		if got := Money(micros); got != want {
			t.Errorf("Money(%d) = %s, want %s", micros, got, want)
		}
	}
}

// TestMoneyExact compares Money with exact fractions.
func TestMoneyExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		micros := rapid.Int64().Draw(t, "micros")
		if got, want := Money(micros), big.NewRat(micros, 1e6).FloatString(6); got != want {
			t.Fatalf("Money(%d) = %s, want %s", micros, got, want)
		}
	})
}

func answer() *weirpb.GetSpendResponse {
	return &weirpb.GetSpendResponse{
		Campaign: "1458", Account: "ipinyou", Day: "all", Currency: "CNY", ChargedMicros: 147_125_090, RefundedMicros: 0,
		Impressions: 220_000, Clicks: 156, Events: 220_156, Duplicates: 3,
		AsOf: &weirpb.AsOf{Partition: 5, NextOffsets: map[string]int64{"ads.events": 220_156, "ads.adjustments": 2}, EventMs: 1382198400123, AppliedMs: 1700000000500, ChangelogNext: 77, OwnerEpoch: 3, ServedBy: &weirpb.ServedBy{Instance: "weir-1", Role: "standby", StalenessMs: 1200}},
		Days: []*weirpb.DaySpend{
			{Day: "2013-10-19", ChargedMicros: 100_000_000, Events: 150_000, Duplicates: 3},
			{Day: "2013-10-20", ChargedMicros: 47_125_090, RefundedMicros: 5, Events: 70_156},
		},
		ByDc:         []*weirpb.DcSpend{{ServingDc: "local", ChargedMicros: 147_125_090, Events: 220_156}},
		EventsByType: map[string]uint64{"impression": 220_000, "click": 156},
	}
}

func TestSpendJSON(t *testing.T) {
	got, err := SpendJSON(answer())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"campaign":"1458","account":"ipinyou","day":"all","currency":"CNY","charged_micros":147125090,"refunded_micros":0,` +
		`"impressions":220000,"clicks":156,"events":220156,"duplicates":3,` +
		`"as_of":{"partition":5,"next_offsets":{"ads.adjustments":2,"ads.events":220156},"event_ms":1382198400123,"applied_ms":1700000000500,` +
		`"changelog_next":77,"owner_epoch":3,"served_by":{"instance":"weir-1","role":"standby","staleness_ms":1200,"stopped":""}},` +
		`"days":[{"day":"2013-10-19","charged_micros":100000000,"refunded_micros":0,"events":150000,"duplicates":3},` +
		`{"day":"2013-10-20","charged_micros":47125090,"refunded_micros":5,"events":70156,"duplicates":0}],` +
		`"by_dc":[{"serving_dc":"local","charged_micros":147125090,"refunded_micros":0,"events":220156}],` +
		`"events_by_type":{"click":156,"impression":220000}}`
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}
	// The smallest and the greatest figures are exact, and an answer without parts has lists, not
	// null.
	got, err = SpendJSON(&weirpb.GetSpendResponse{ChargedMicros: math.MinInt64, Events: math.MaxUint64})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"charged_micros":-9223372036854775808`, `"events":18446744073709551615`, `"days":[]`, `"by_dc":[]`, `"events_by_type":{}`, `"as_of":null`} {
		if !strings.Contains(string(got), part) {
			t.Errorf("%s lacks %s", got, part)
		}
	}
}

func TestSpendTable(t *testing.T) {
	want := `campaign      1458
account       ipinyou
day           all
charged       147.125090 CNY
refunded      0.000000 CNY
events        220156
  click       156
  impression  220000
duplicates    3 (not charged)
as of         2023-11-14 22:13:20 UTC, 3s ago, served by standby weir-1, at most 1200 ms old

day            charged  refunded  events  duplicates
2013-10-19  100.000000  0.000000  150000           3
2013-10-20   47.125090  0.000005   70156           0
`
	if d := cmp.Diff(want, SpendTable(answer(), AsOfFormat{Now: time.UnixMilli(1700000003500)})); d != "" {
		t.Error(d)
	}
	const wide = "\nas of         partition 5 ads.adjustments@2 ads.events@220156, events up to 2013-10-19T16:00:00.123Z, " +
		"applied 2023-11-14T22:13:20.500Z, served by standby weir-1, at most 1200 ms old\n"
	if got := SpendTable(answer(), AsOfFormat{Wide: true}); !strings.Contains(got, wide) {
		t.Errorf("wide: %s", got)
	}
}

// TestAsOf: a table states when its figures were committed and how old they are. The process is
// named where figures may be incomplete.
func TestAsOf(t *testing.T) {
	at := func(ms int64, by *weirpb.ServedBy) *weirpb.AsOf { return &weirpb.AsOf{AppliedMs: ms, ServedBy: by} }
	const now = 1700000000000
	for _, c := range []struct {
		of   []*weirpb.AsOf
		want string
	}{
		{[]*weirpb.AsOf{nil}, "unknown"},
		{[]*weirpb.AsOf{at(0, nil)}, "unknown"},
		{[]*weirpb.AsOf{at(now+500, &weirpb.ServedBy{Instance: "weir-0", Role: "owner"})}, "2023-11-14 22:13:20 UTC, 0s ago"},
		{[]*weirpb.AsOf{at(now-119_000, nil)}, "2023-11-14 22:11:21 UTC, 119s ago"},
		{[]*weirpb.AsOf{at(now-3_600_000, nil)}, "2023-11-14 21:13:20 UTC, 60m ago"},
		{[]*weirpb.AsOf{at(now-47*3_600_000, nil)}, "2023-11-12 23:13:20 UTC, 47h ago"},
		{[]*weirpb.AsOf{at(now-49*3_600_000, nil)}, "2023-11-12 21:13:20 UTC, 2d ago"},
		{[]*weirpb.AsOf{at(now, &weirpb.ServedBy{Instance: "weir-0", Stopped: "poison"})}, "2023-11-14 22:13:20 UTC, 0s ago, served by weir-0, stopped: poison"},
		{[]*weirpb.AsOf{at(now, nil), at(now-2000, nil), at(now-1000, nil)}, "2023-11-14 22:13:18 UTC, 2s ago, the oldest of 3 partitions"},
		{
			[]*weirpb.AsOf{
				at(now-2000, &weirpb.ServedBy{Instance: "b", Role: "standby", StalenessMs: 300}), at(now, &weirpb.ServedBy{Instance: "a", Role: "owner"}),
				at(now, &weirpb.ServedBy{Instance: "b", Role: "standby", StalenessMs: 1200}), at(now, &weirpb.ServedBy{Instance: "c", Role: "owner", Stopped: "full"}),
			},
			"2023-11-14 22:13:18 UTC, 2s ago, the oldest of 4 partitions, 2 partitions served by standby b, at most 1200 ms old, 1 partition served by c, stopped: full",
		},
	} {
		if got := (AsOfFormat{Now: time.UnixMilli(now)}).all(c.of); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestOverRefunded: a sum over days does not hide a day whose refunds exceed its charges.
func TestOverRefunded(t *testing.T) {
	res := answer()
	for i := range 7 {
		res.Days = append(res.Days, &weirpb.DaySpend{Day: fmt.Sprint("2013-11-0", i+1), RefundedMicros: 1, OverRefunded: true})
	}
	if got, want := SpendTable(res, AsOfFormat{}), "\nover-refunded  refunds exceed charges on 2013-11-01, 2013-11-02, 2013-11-03, 2013-11-04, 2013-11-05 and 2 more days\n"; !strings.Contains(got, want) {
		t.Errorf("%s lacks %s", got, want)
	}
	got, err := SpendJSON(res)
	if err != nil || strings.Count(string(got), `"over_refunded":true`) != 7 || strings.Contains(string(got), `"over_refunded":false`) {
		t.Errorf("%s, %v", got, err)
	}
}

func TestHealthAndPartitions(t *testing.T) {
	health := &weirpb.ListHealthResponse{Shards: []*weirpb.ShardHealth{
		{
			WriterDc: "local", Shard: 7, OwnerEpoch: 2, Sequence: 9, TimestampMs: 1700000000000, ApproxCount: 60, IngestCount: 61, WrittenAtMs: 1700000000100,
			CumulativeCount: 12, CumulativeMicros: 120, Lost: 1, Rejected: 4, Incarnation: 5,
			Origins: []*weirpb.OriginHealth{
				{Dc: "east", WatermarkMs: 1700000000000, Count_60S: 21, CumulativeCount: 5, CumulativeMicros: 50, OffsetSum: 1042, Lost: 1, Rejected: 4},
				{Dc: "local", Count_60S: 40, CumulativeCount: 7, CumulativeMicros: 70},
			},
		},
		{WriterDc: "local", Shard: 11},
	}, Gaps: []*weirpb.Gap{{Partition: 9, State: "elsewhere", Reason: "weir-2 is away"}}}
	lag := int64(3)
	parts := &weirpb.ListPartitionsResponse{Partitions: []*weirpb.Partition{
		{App: "spendcounter", Partition: 5, State: "running", OwnerEpoch: 2, Sequence: 42, NextOffsets: map[string]int64{"ads.events": 1234}, Lag: &lag, ChangelogNext: 77, Instance: "weir-1"},
		{App: "spendcounter", Partition: 12, State: "stopped", Reason: "offset out of range: run weir doctor"},
	}}
	for name, c := range map[string]struct{ got, want string }{
		"health": {HealthTable(health), `writer  shard  last 60 s  all time  lost  rejected  newest event              written
local       7         60        12     1         4  2023-11-14T22:13:20.000Z  2023-11-14T22:13:20.100Z
local      11          0         0     0         0  unknown                   unknown
shard 9 cannot be read now: it is elsewhere: weir-2 is away
`},
		"origins": {OriginsTable(health), `writer  shard  origin  last 60 s  all time  offsets  lost  rejected  newest event
local       7  east           21         5     1042     1         4  2023-11-14T22:13:20.000Z
local       7  local          40         7        0     0         0  unknown
shard 9 cannot be read now: it is elsewhere: weir-2 is away
`},
		"no origins": {OriginsTable(nil), "no shard has written its health yet\n"},
		"no health":  {HealthTable(nil), "no shard has written its health yet\n"},
		"partitions": {PartitionsTable(parts), `app           partition  process  state        lag  next offsets     reason
spendcounter          5  weir-1   running        3  ads.events@1234
spendcounter         12           stopped  unknown                   offset out of range: run weir doctor
`},
		"no partitions": {PartitionsTable(nil), "no process has a partition\n"},
		"health JSON": {
			must(HealthJSON(&weirpb.ListHealthResponse{Shards: health.Shards[:1], Gaps: health.Gaps})),
			`{"shards":[{"writer_dc":"local","shard":7,"owner_epoch":2,"sequence":9,"timestamp_ms":1700000000000,"approx_count":60,` +
				`"ingest_count":61,"written_at_ms":1700000000100,"cumulative_count":12,"cumulative_micros":120,"lost":1,"rejected":4,"incarnation":5,"origins":[` +
				`{"dc":"east","watermark_ms":1700000000000,"count_60s":21,"cumulative_count":5,"cumulative_micros":50,"offset_sum":1042,"lost":1,"rejected":4},` +
				`{"dc":"local","watermark_ms":0,"count_60s":40,"cumulative_count":7,"cumulative_micros":70,"offset_sum":0,"lost":0,"rejected":0}` +
				`]}],"gaps":[{"partition":9,"state":"elsewhere","reason":"weir-2 is away"}]}`,
		},
		"no health JSON": {must(HealthJSON(nil)), `{"shards":[],"gaps":[]}`},
		"partitions JSON": {
			must(PartitionsJSON(parts)),
			`{"partitions":[{"app":"spendcounter","partition":5,"state":"running","reason":"","owner_epoch":2,"sequence":42,` +
				`"next_offsets":{"ads.events":1234},"lag":3,"changelog_next":77,"instance":"weir-1"},` +
				`{"app":"spendcounter","partition":12,"state":"stopped","reason":"offset out of range: run weir doctor","owner_epoch":0,"sequence":0,` +
				`"next_offsets":{},"lag":null,"changelog_next":0,"instance":""}]}`,
		},
	} {
		if d := cmp.Diff(c.want, c.got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func must(b []byte, err error) string {
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// FuzzRender puts any text into fields that hold data. Tables have no control characters, and JSON
// stays one object.
func FuzzRender(f *testing.F) {
	for _, s := range []string{"c1", "\x1b[2J\x1b[31mPAID", "\u009b31m", "a\nb\tc", "\u202egnp", "\xff\xfe", "日本", `"quoted" \ back`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		res := answer()
		res.Campaign, res.Account, res.Currency, res.Days[0].Day, res.EventsByType[s] = s, s, s, s, 1
		parts := &weirpb.ListPartitionsResponse{Partitions: []*weirpb.Partition{{App: s, State: s, Reason: s, NextOffsets: map[string]int64{s: 1}}}}
		health := &weirpb.ListHealthResponse{Shards: []*weirpb.ShardHealth{{WriterDc: s}}}
		health.Gaps = []*weirpb.Gap{{State: s, Reason: s}}
		by := &weirpb.AsOf{ServedBy: &weirpb.ServedBy{Instance: s, Role: "standby", Stopped: s}}
		scan := &weirpb.ScanStateResponse{Entries: []*weirpb.StateEntry{{Key: []byte(s), Json: s}, {Value: []byte(s), JsonError: s}}}
		get := &weirpb.GetStateResponse{Entry: scan.Entries[0], AsOf: by}
		hash := &weirpb.HashStateResponse{Partitions: []*weirpb.PartitionHash{{AsOf: by, Tables: []*weirpb.TableHash{{Name: s}}}}}
		for _, out := range []string{SpendTable(res, AsOfFormat{}), SpendTable(res, AsOfFormat{Wide: true}), PartitionsTable(parts), HealthTable(health), ScanTable(scan), StateTable(get), HashTable(hash)} {
			for _, r := range out {
				if r != '\n' && r != unicode.ReplacementChar && !unicode.IsPrint(r) {
					t.Fatalf("%q shows %U in %q", s, r, out)
				}
			}
		}
		b, err := SpendJSON(res)
		if err != nil || !json.Valid(b) {
			t.Fatalf("%q: %s, %v", s, b, err)
		}
	})
}

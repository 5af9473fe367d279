package spend

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/processors/kafka"
)

const refundsHead = "reference_id,account,campaign,budget_day,amount,currency,serving_dc,reason\n"

// TestAdjustImport imports files into a broker, without a server.
func TestAdjustImport(t *testing.T) {
	i := newImporter(t)
	const one = "r1,acme,spring,20261101,12.5,USD,eu,\n"
	const some = refundsHead + one + one + "r2,acme,spring,2026-11-01,0.000001,EUR,eu,credit\n"
	produced := 0
	for _, c := range []struct {
		name, content, flags string
		code                 int
		out, err             string // parts of the output
		more                 int    // records produced
	}{
		{"no unit", some, "--amount-unit=", 64, "", "add --amount-unit major", 0},
		{"dry", some, "--dry-run", 0, "to be produced:     2\n", "dry run: nothing was produced", 0},
		{"dry sums", some, "--dry-run", 0, "amount:             0.000001 EUR\namount:             12.50 USD\n", "", 0},
		{"dry json", some, "--dry-run -o json", 0, `{"read":3,"produced":2,"rejected":0,"repeated_in_file":1,"micros":{"EUR":1,"USD":12500000},"dry_run":true}`, "", 0},
		{"some", some, "", 0, "produced:           2\nrejected:           0\nrepeated in file:   1\n", `line 2: refund "r1" of 12.50 USD to account "acme" for campaign "spring" on 2026-11-01, served by eu`, 2},
		{"no dc", strings.ReplaceAll(some, "serving_dc", "dc"), "", 64, "", "no column is mapped to serving_dc", 0},
		{"dc", "reference_id,account,campaign,budget_day,amount,currency\n" + "r,a,c,20261101,1,USD\n", "--serving-dc us --reason invalid_traffic", 0, "amount:             1.00 USD", `invalid traffic "r" of`, 1},
		{"semicolons", strings.ReplaceAll(some, ",", ";"), "", 64, "", "add --delimiter ';'", 0},
		{"map", some, "--map reference=r", 64, "", `did you mean "reference_id"?`, 0},
		{"no map", some, "--map r", 64, "", "the fields are: reference_id, account", 0},
		{"rejects", some + "r1,acme,spring,20261101,13,USD,eu,\n", "", 65, "read:               4\nproduced:           0\nrejected:           1\nrepeated in file:   1\nrejects file:", "1 of 4, at most 10% are allowed", 0},
		{"rejects, allowed", some + "r1,acme,spring,20261101,13,USD,eu,\n", "--max-rejects 1", 0, "rejected:           1\n", "Correct them in the file and import it again", 2},
		{"rejects, dry", some + "r1,acme,spring,20261101,13,USD,eu,\n", "--dry-run -o json", 65, `{"read":4,"produced":0,"rejected":1,"repeated_in_file":1,"micros":{},"dry_run":true,`, "Nothing was produced. Correct or delete the rows", 0},
		{"nothing right", refundsHead + "r1,acme,spring,20261101,-1,USD,eu,\n", "-o json", 65, `{"read":1,"produced":0,"rejected":1,`, "often --map or --amount-unit is wrong", 0},
		{"header only", refundsHead, "", 0, "produced:           0\n", "the input has no rows", 0},
		{"hostile", refundsHead + "\"\x1b[31m\u202e\",acme,spring,20261101,1,USD,eu,\n", "", 0, "1.00 USD", `\x1b[31m\u202e`, 1},
	} {
		path := i.write(c.name, c.content)
		args := append([]string{"adjust", "import", path, "--brokers", i.brokers, "--rejects", path + ".rejects.jsonl", "--amount-unit", "major"}, strings.Fields(c.flags)...)
		got := clitest.Run(t, Commands, nil, args...)
		if got.Code != c.code || !strings.Contains(got.Stdout, c.out) || !strings.Contains(got.Stderr, c.err) || strings.ContainsAny(got.Stdout+got.Stderr, "\x1b\u202e") {
			t.Errorf("%s: code %d, want %d, %q and %q:\n%s%s", c.name, got.Code, c.code, c.out, c.err, got.Stdout, got.Stderr)
		}
		if produced += c.more; i.records(events.AdjustmentsTopic) != produced {
			t.Fatalf("%s: %d records, want %d", c.name, i.records(events.AdjustmentsTopic), produced)
		}
	}
}

func (i *importer) records(topic string) (n int) {
	i.t.Helper()
	ends, err := kafka.EndOffsets(i.t.Context(), kafka.Cluster{Brokers: []string{i.brokers}}, topic)
	if err != nil {
		i.t.Fatal(err)
	}
	for _, end := range ends[topic] {
		n += int(end)
	}
	return n
}

func TestAdjustCreate(t *testing.T) {
	i := newImporter(t)
	good := map[string]string{"reference": "t-1", "account": "acme", "campaign": "spring, 2", "day": "2026-11-01", "amount": "12.5", "currency": "USD", "serving-dc": "eu"}
	for _, c := range []struct {
		flag, value string
		code        int
		want        string
	}{
		{"reason", "credit", 0, `produced: credit "t-1" of 12.50 USD to account "acme" for campaign "spring, 2" on 2026-11-01, served by eu`},
		{"amount-unit", "micros", 64, "bad_amount"},
		{"amount-unit", "cent", 0, `of 0.125 USD`},
		{"amount", "-1", 64, "without a sign"},
		{"day", "2026-11-31", 64, "not a date"},
		{"day", "today", 0, "produced"},
		{"serving-dc", "", 64, "serving_dc"},
		{"reference", "", 64, "no reference_id"},
		{"reference", "a\nb\"c,", 0, `"a\nb\"c,"`},
		{"currency", "usd", 64, "ISO 4217"},
		{"reason", "gift", 64, "refund, credit, invalid_traffic"},
	} {
		args := []string{"adjust", "create", "--brokers", i.brokers}
		for name, value := range good {
			if name != c.flag {
				args = append(args, "--"+name, value)
			}
		}
		got := clitest.Run(t, Commands, nil, append(args, "--"+c.flag, c.value)...)
		if text := got.Stdout + got.Stderr; got.Code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("--%s %q: code %d, want %d and %s:\n%s", c.flag, c.value, got.Code, c.code, c.want, text)
		}
	}
	if n := i.records(events.AdjustmentsTopic); n != 4 {
		t.Errorf("%d records", n)
	}
	if got := clitest.Run(t, Commands, nil, "adjust", "create", "--reference", "r"); got.Code != 64 || !strings.Contains(got.Stderr, "serving-dc") {
		t.Errorf("without flags: %+v", got)
	}
}

// Adjustments implements api.AdjustmentSource: three adjustments of account acme.
func (s *spendState) Adjustments(_ context.Context, q api.AdjustmentQuery) (*api.AdjustmentPage, error) {
	page := &api.AdjustmentPage{AsOf: &weirpb.AsOf{AppliedMs: 1700000000000, NextOffsets: map[string]int64{"ads.adjustments": 4}}}
	full := &weirpb.Adjustment{
		Account: "acme", Campaign: hostile, Day: "2026-11-01", Currency: "USD", Micros: 12_500_000, ServingDc: "eu", Reason: "refund", IngestMs: 1700000000000,
		Duplicates: 2, Conflicts: 1, OverRefunded: true,
	}
	for i := range 3 {
		a := proto.CloneOf(full)
		a.ReferenceId = fmt.Sprint("r", i)
		switch {
		case q.Account != "acme" || a.ReferenceId <= q.After:
		case len(page.Adjustments) == q.Limit:
			page.More = true
		default:
			page.Adjustments = append(page.Adjustments, a)
		}
	}
	return page, nil
}

func TestAdjustList(t *testing.T) {
	_, env := serveSpend(t)
	escaped := `e\x1b[31m\u202evil`
	const head = "account,reference_id,campaign,day,currency,micros,serving_dc,reason,ingest_ms,duplicates,conflicts,over_refunded\n"
	for _, c := range []struct {
		args     string
		out, err string // parts of the output
	}{
		{"", "r0         " + escaped + "  2026-11-01  USD       12.500000  eu          refund  2023-11-14T22:13:20.000Z           2          1  over-refunded\nr1 ", ""},
		{"", "\nas of 2023-11-14 22:13:20 UTC, ", ""},
		{"-o wide", "as of partition 0 ads.adjustments@4", ""},
		{"", "\nr2 ", ""},
		{"--limit 1 -o csv", head + "acme,r0," + escaped + ",2026-11-01,USD,12500000,eu,refund,1700000000000,2,1,true\n", "there are more adjustments: add --page "},
		{"--limit 2 -o json", `"next_page_token":"A`, ""},
		{"-o jsonl", `,"day":"2026-11-01","currency":"USD","micros":12500000,"serving_dc":"eu","reason":"refund","ingest_ms":1700000000000,"duplicates":2,"conflicts":1,"over_refunded":true}`, ""},
		{"--account other", "", `account "other" has no adjustments, as of partition 0`},
		{"--limit 0", "", "use 1 or more"},
		{"--page x", "", "page_token"},
	} {
		got := clitest.Run(t, Commands, env, append([]string{"adjust", "list", "--account", "acme"}, strings.Fields(c.args)...)...)
		controls := "\x1b\u202e"
		if strings.Contains(c.args, "json") { // which escapes controls of a terminal, and no others
			controls = "\x1b"
		}
		if (got.Code == 0) != (c.out != "") || !strings.Contains(got.Stdout, c.out) || !strings.Contains(got.Stderr, c.err) || strings.ContainsAny(got.Stdout+got.Stderr, controls) {
			t.Errorf("%s: code %d\n%s%s", c.args, got.Code, got.Stdout, got.Stderr)
		}
	}
}

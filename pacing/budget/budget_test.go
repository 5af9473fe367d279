package budget

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

const valid = `{
  "account": "acme", "version": 7, "time_zone": "Europe/Berlin", "currency": "EUR", "effective_from": "2026-11-01",
  "shared": [{"id": "brand", "parent": "all", "daily": "500.00"}, {"id": "all", "lifetime": "90000"}],
  "campaigns": [
    {"campaign": "spring", "daily": "100.5"},
    {"campaign": "launch", "lifetime": "20000", "shared": "brand",
     "flights": [{"begin": "2026-12-24", "end": "2026-12-24"}, {"begin": "2026-11-01", "end": "2026-11-30"}],
     "arms": [{"arm": "new", "share": "0.333333"}, {"arm": "control", "share": "0.666667"}]},
    {"campaign": "always", "controller": "asap", "average_daily": "80", "cap": "1.5", "flights": [{"begin": "2026-11-05"}]},
    {"campaign": "below", "shared": "all"}
  ]
}`

// TestDocument: a document in the form of a person has the canonical form, whose numbers are exact.
func TestDocument(t *testing.T) {
	d, err := Decode([]byte(valid))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"account":"acme","version":7,"time_zone":"Europe/Berlin","currency":"EUR","effective_from":"2026-10-31T23:00:00Z",` +
		`"shared":[{"id":"all","lifetime":"90000.00"},{"id":"brand","parent":"all","daily":"500.00"}],` +
		`"campaigns":[{"campaign":"always","average_daily":"80.00","cap":"1.5","flights":[{"begin":"2026-11-05"}],"controller":"asap"},` +
		`{"campaign":"below","shared":"all"},` +
		`{"campaign":"launch","shared":"brand","lifetime":"20000.00","flights":[{"begin":"2026-11-01","end":"2026-11-30"},` +
		`{"begin":"2026-12-24","end":"2026-12-24"}],"arms":[{"arm":"control","share":"0.666667"},{"arm":"new","share":"0.333333"}]},` +
		`{"campaign":"spring","daily":"100.50"}]}`
	if got := string(d.Encode()); got != want {
		t.Errorf("canonical form\n%s\nwant\n%s", got, want)
	}
}

// TestProblems: each mistake is refused at the path of its field, and a document with several
// mistakes has all of them.
func TestProblems(t *testing.T) {
	for _, c := range []struct{ old, with, path, text string }{
		{`"acme"`, `""`, "account", "is empty"},
		{`"acme"`, `"` + strings.Repeat("x", 257) + `"`, "account", "257 bytes"},
		{`"acme"`, `"a\u0000b"`, "account", "NUL"},
		{`7`, `-7`, "version", "positive integer"},
		{`7`, `1.5`, "version", "positive integer"},
		{`7`, `9007199254740992`, "version", "is greater than 9007199254740991"},
		{`Europe/Berlin`, `Europe/Atlantis`, "time_zone", `"Europe/Atlantis" is not a time zone`},
		{`"currency": "EUR"`, `"currency": "EUR", "plan": "straight"`, "plan", `"straight" is not known: use learnt or even`},
		{`"currency": "EUR"`, `"currency": "EUR", "plan": ""`, "plan", "it is empty: leave it out for learnt"},
		{`Europe/Berlin`, `Local`, "time_zone", "is not a time zone"},
		{`Europe/Berlin`, ``, "time_zone", "is not a time zone"},
		{`"EUR"`, `"EUX"`, "currency", "not an active ISO 4217 code"},
		{`"EUR"`, `"eur"`, "currency", "not an active ISO 4217 code"},
		{`"effective_from": "2026-11-01"`, `"effective_from": "tomorrow"`, "effective_from", "is not a time"},
		{`"effective_from": "2026-11-01"`, `"effective_from": ""`, "effective_from", "leave it out"},
		{`"100.5"`, `"-0.01"`, "campaigns[0].daily", "negative"},
		{`"100.5"`, `100.5`, "campaigns[0].daily", "in quotes"},
		{`"100.5"`, `"1e3"`, "campaigns[0].daily", "not a decimal number"},
		{`"100.5"`, `"1,000"`, "campaigns[0].daily", "not a decimal number"},
		{`"100.5"`, `"0.0000001"`, "campaigns[0].daily", "after the point"},
		{`"100.5"`, `"100000000001"`, "campaigns[0].daily", "is greater than 100000000000.000000"},
		{`"daily": "100.5"`, `"dialy": "100.5"`, "campaigns[0].dialy", "use one of campaign, shared, daily"},
		{`"daily": "100.5"`, `"daily": "1", "daily": "2"`, "campaigns[0].daily", "occurs twice"},
		{`"daily": "100.5"`, `"daily": "1", "lifetime": "2"`, "campaigns[0].lifetime", "daily and lifetime"},
		{`, "daily": "100.5"`, ``, "campaigns[0]", `campaign "spring" has no budget`},
		{`"daily": "100.5"`, `"daily": "100.5", "cap": "1.5"`, "campaigns[0].cap", "only a budget with average_daily"},
		{`"cap": "1.5"`, `"cap": "2.000001"`, "campaigns[2].cap", "from 1.0 to 2.0"},
		{`"cap": "1.5"`, `"cap": "4294967297"`, "campaigns[2].cap", "from 1.0 to 2.0"},
		{`, "cap": "1.5"`, ``, "campaigns[2].cap", "needs a cap"},
		{`"spring"`, `"launch"`, "campaigns[1].campaign", "twice"},
		{`"asap"`, `"fast"`, "campaigns[2].controller", `"fast" is not known: use asap, dual, pid, ptr or ratio`},
		{`"asap"`, `""`, "campaigns[2].controller", "leave it out for ratio"},
		{`"shared": "all"`, `"shared": "all", "controller": "asap"`, "campaigns[3].controller", "paces an amount, which is missing"},
		{`"brand",
`, `"brands",
`, "campaigns[1].shared", `no shared budget "brands"`},
		{`"parent": "all"`, `"parent": "al"`, "shared[0].parent", `no shared budget "al"`},
		{`"lifetime": "90000"`, `"lifetime": "90000", "parent": "brand"`, "shared[0].parent", "above itself"},
		{`"parent": "all"`, `"parent": "brand"`, "shared[0].parent", "above itself"},
		{`"id": "all"`, `"id": "brand"`, "shared[1].id", "twice"},
		{`, "lifetime": "90000"`, ``, "shared[1]", "has no amount"},
		{`"end": "2026-11-30"`, `"end": "2026-10-30"`, "campaigns[1].flights[1]", "ends on 2026-10-30, before it begins on 2026-11-01"},
		{`"end": "2026-11-30"`, `"end": "2026-11-31"`, "campaigns[1].flights[1].end", "not a calendar day"},
		{`"end": "2026-11-30"`, `"end": "2026-12-24"`, "campaigns[1].flights[1]", "in common with flights[0]"},
		{`"end": "2026-11-30"`, `"ends": "2026-11-30"`, "campaigns[1].flights[1].ends", "not known"},
		{`"0.666667"`, `"0.666666"`, "campaigns[1].arms", "add up to 0.999999"},
		{`"0.666667"`, `"0.666668"`, "campaigns[1].arms", "add up to 1.000001"},
		{`"0.666667"`, `"0"`, "campaigns[1].arms[1].share", "greater than 0"},
		{`"0.666667"`, `"4294.967296"`, "campaigns[1].arms[1].share", "at most 1"},
		{`"control"`, `"new"`, "campaigns[1].arms[1].arm", "twice"},
		{`[{"arm"`, `["x", {"arm"`, "campaigns[1].arms[0]", "has to be an object"},
	} {
		text := strings.Replace(valid, c.old, c.with, 1)
		if text == valid {
			t.Fatalf("%q is not in the document", c.old)
		}
		_, err := Decode([]byte(text))
		var all Problems
		if !errors.As(err, &all) || !slices.ContainsFunc(all, func(p Problem) bool { return p.Path == c.path && strings.Contains(p.Text, c.text) }) {
			t.Errorf("%s for %s: %v; want %s: %s", c.with, c.old, err, c.path, c.text)
		}
		if len(all) > 3 { // a cycle has two members, and a renamed budget is missed at two places
			t.Errorf("%s for %s: one mistake has %d problems: %v", c.with, c.old, len(all), err)
		}
	}
	several := strings.NewReplacer("EUR", "EUX", "Europe/Berlin", "Mars", `"100.5"`, `"-1"`, "0.666667", "0.6").Replace(valid)
	_, err := Decode([]byte(several))
	var all Problems
	if !errors.As(err, &all) || len(all) != 4 {
		t.Errorf("four mistakes: %v", err)
	}
}

// TestSyntax: text that is not a document has one problem, with its place.
func TestSyntax(t *testing.T) {
	for text, want := range map[string]string{
		``: "ends early", `[]`: "it is an array", `{"account": "x"`: "ends early", `{} {}`: "there is text after the document",
		`{"account" "x"}`: "at byte", "{\"account\": \"\xff\"}": "not UTF-8", strings.Repeat("[", 100_000): "nested more than",
		`{"account": nil}`: "at byte", `null`: "it is null",
	} {
		_, err := Decode([]byte(text))
		var all Problems
		if !errors.As(err, &all) || len(all) != 1 || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v; want %s", text, err, want)
		}
	}
}

// zones of the tests: whole and half hours, the date line, changes at midnight, and a zone that
// has skipped a day.
func zones() []string {
	return []string{
		"UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia",
		"Pacific/Kiritimati", "Pacific/Marquesas", "Asia/Beirut", "Africa/Cairo", "America/Havana", "Asia/Tehran", "Asia/Gaza",
		"America/Asuncion", "America/Santiago", "Atlantic/Azores", "Africa/Casablanca", "Asia/Amman", "America/Scoresbysund",
	}
}

func genLimit(kinds ...Kind) *rapid.Generator[Limit] {
	return rapid.Custom(func(t *rapid.T) Limit {
		l := Limit{Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
		if l.Kind == None {
			return l
		}
		l.Controller = rapid.SampledFrom([]string{"", "asap", "dual", "pid", "ptr", "ratio"}).Draw(t, "controller")
		l.Micros = rapid.OneOf(rapid.Int64Range(0, MaxMicros), rapid.Just(int64(0)), rapid.Just(int64(MaxMicros)),
			rapid.Int64Range(0, 1000)).Draw(t, "micros")
		if l.Kind == AverageDaily {
			l.CapPPM = rapid.Int32Range(PPM, 2*PPM).Draw(t, "cap")
		}
		day := events.Day(20260101)
		for range rapid.IntRange(0, 3).Draw(t, "flights") {
			f := Flight{Begin: day.Add(rapid.IntRange(1, 40).Draw(t, "gap"))}
			f.End = f.Begin.Add(rapid.IntRange(0, 40).Draw(t, "length"))
			l.Flights, day = append(l.Flights, f), f.End
		}
		if n := len(l.Flights); n > 0 && rapid.IntRange(0, 3).Draw(t, "open") == 0 {
			l.Flights[n-1].End = NoEnd
		}
		return l
	})
}

func genDocument() *rapid.Generator[*Document] {
	return rapid.Custom(func(t *rapid.T) *Document {
		d := &Document{
			Account: rapid.SampledFrom([]string{"acme", "Ω<b>", "a\nb"}).Draw(t, "account"), Version: rapid.Uint64Range(1, 5).Draw(t, "version"),
			Zone: rapid.SampledFrom(zones()).Draw(t, "zone"), Currency: rapid.SampledFrom([]string{"EUR", "JPY"}).Draw(t, "currency"),
			Plan:        rapid.SampledFrom([]string{"", PlanLearnt, PlanEven}).Draw(t, "plan"),
			EffectiveMs: rapid.SampledFrom([]int64{0, 1, 1_767_225_600_000, 1_767_225_600_123}).Draw(t, "effective"),
		}
		for i := range rapid.IntRange(0, 4).Draw(t, "shared") {
			s := Shared{ID: fmt.Sprint("s", i), Limit: genLimit(Daily, Lifetime, AverageDaily).Draw(t, "limit")}
			if i > 0 && rapid.Bool().Draw(t, "below") {
				s.Parent = fmt.Sprint("s", rapid.IntRange(0, i-1).Draw(t, "parent"))
			}
			d.Shared = append(d.Shared, s)
		}
		for i := range rapid.IntRange(1, 5).Draw(t, "campaigns") {
			c := Campaign{ID: fmt.Sprint("c", i), Limit: genLimit(None, Daily, Lifetime, AverageDaily).Draw(t, "limit")}
			if len(d.Shared) > 0 && rapid.Bool().Draw(t, "below") {
				c.Shared = rapid.SampledFrom(d.Shared).Draw(t, "shared").ID
			} else if c.Limit.Kind == None {
				c.Limit.Kind = Daily
			}
			if rapid.Bool().Draw(t, "experiment") {
				first := rapid.Int32Range(1, PPM-1).Draw(t, "share")
				c.Arms = []Arm{{"a", first}, {"b", PPM - first}}
			}
			d.Campaigns = append(d.Campaigns, c)
		}
		return d
	})
}

// TestEncodings: a document is the same after its encodings, in whatever order its parts are.
func TestEncodings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := genDocument().Draw(t, "document")
		want := string(d.Encode())
		again, err := Decode(d.Encode())
		if err != nil || string(again.Encode()) != want {
			t.Fatalf("as JSON: %v\n%s\nwant\n%s", err, again.Encode(), want)
		}
		b, err := proto.Marshal(d.Record())
		m := &eventspb.AccountBudgets{}
		if err = errors.Join(err, proto.Unmarshal(b, m)); err != nil {
			t.Fatal(err)
		}
		slices.Reverse(m.Campaigns)
		slices.Reverse(m.Shared)
		if again, err = FromRecord(m); err != nil || string(again.Encode()) != want || Compare(again, d) != 0 {
			t.Fatalf("as a record: %v\n%s\nwant\n%s", err, again.Encode(), want)
		}
	})
}

// TestRecordProblems: a record of another program is checked as a document is, without a panic.
func TestRecordProblems(t *testing.T) {
	for name, m := range map[string]*eventspb.AccountBudgets{
		"nil": nil, "empty": {},
		"kind": {Account: "a", Version: 1, TimeZone: "UTC", Currency: "EUR", Campaigns: []*eventspb.CampaignBudget{
			{Campaign: "c", Limit: &eventspb.BudgetLimit{Kind: 9, Micros: 1}},
		}},
		"no version": {Account: "a", TimeZone: "UTC", Currency: "EUR", Campaigns: []*eventspb.CampaignBudget{
			{Campaign: "c", Limit: &eventspb.BudgetLimit{Kind: 1, Micros: 1}},
		}},
		"a null campaign": {Account: "a", Version: 1, TimeZone: "UTC", Currency: "EUR", Campaigns: []*eventspb.CampaignBudget{nil}},
		"day 0": {Account: "a", Version: 1, TimeZone: "UTC", Currency: "EUR", Campaigns: []*eventspb.CampaignBudget{
			{Campaign: "c", Limit: &eventspb.BudgetLimit{Kind: 1, Micros: 1, Flights: []*eventspb.Flight{{BeginDay: 20260101}}}},
		}},
	} {
		var all Problems
		if d, err := FromRecord(m); !errors.As(err, &all) || d != nil {
			t.Errorf("%s: %v, %v", name, d, err)
		}
	}
}

// FuzzDecode: whatever the bytes, Decode returns a valid document or problems.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(valid))
	f.Add([]byte(`{"account":"a","time_zone":"UTC","currency":"EUR","campaigns":[{"campaign":"c","daily":"1"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := Decode(b)
		if err != nil {
			var all Problems
			if !errors.As(err, &all) || len(all) == 0 {
				t.Fatalf("%v", err)
			}
			return
		}
		again, err := Decode(d.Encode())
		if err != nil || string(again.Encode()) != string(d.Encode()) {
			t.Fatalf("%v\n%s\n%s", err, d.Encode(), again.Encode())
		}
	})
}

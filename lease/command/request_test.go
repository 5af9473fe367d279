package command

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
)

const (
	done    = eventspb.LeaseOutcome_LEASE_OUTCOME_DONE
	stale   = eventspb.LeaseOutcome_LEASE_OUTCOME_STALE
	early   = eventspb.LeaseOutcome_LEASE_OUTCOME_EARLY
	missing = eventspb.LeaseOutcome_LEASE_OUTCOME_MISSING
)

func config() *Config {
	return &Config{
		Region: "eu", Regions: []string{"eu", "us"}, Rules: lease.Protocol(), Skew: 500, TransferWait: 3000,
		DrawBucket: func(n int) int { return n - 1 },
	}
}

func command(c any) *eventspb.LeaseCommand {
	m := &eventspb.LeaseCommand{Id: "1", Client: "c", Pool: "p", Region: "eu"}
	switch c := c.(type) {
	case *eventspb.LeaseLiberate:
		m.Command = &eventspb.LeaseCommand_Liberate{Liberate: c}
	case *eventspb.LeaseTransfer:
		m.Command = &eventspb.LeaseCommand_Transfer{Transfer: c}
	case *eventspb.LeaseSupersede:
		m.Command = &eventspb.LeaseCommand_Supersede{Supersede: c}
	case *eventspb.LeaseRevoke:
		m.Command = &eventspb.LeaseCommand_Revoke{Revoke: c}
	case *eventspb.LeaseHeadroom:
		m.Command = &eventspb.LeaseCommand_Headroom{Headroom: c}
	}
	return m
}

func commands() []*eventspb.LeaseCommand {
	return []*eventspb.LeaseCommand{
		command(&eventspb.LeaseLiberate{Resource: "r", Version: 7, ExpiresMs: 10_000, AvailableMs: 12_000, Buckets: 4}),
		command(&eventspb.LeaseTransfer{Resource: "r", Version: 7, To: "us", Buckets: 4}),
		command(&eventspb.LeaseSupersede{Key: "k", Version: 7, Resource: "r", Winner: "us"}),
		command(&eventspb.LeaseRevoke{Resource: "r", Version: 7, AvailableMs: 12_000, Buckets: 4, Holder: lease.Holder("p", "k")}),
		command(&eventspb.LeaseHeadroom{Client: "c", Pool: "p", Region: "eu", AsOfMs: 5, LagMs: -1, Rate: 0.5}),
	}
}

// Each kind of command gives its rule, row and arguments, with every condition of the protocol.
func TestMake(t *testing.T) {
	p := lease.Protocol()
	want := map[string]struct {
		rule   *lease.Rule
		args   lease.Row
		row    lease.PrimaryKey
		bucket string
		key    string
	}{
		"liberate": {&p.Liberate, lease.Row{Version: 7, Available: 12_000}, lease.ResourceRow("c", "r"), "c#p#eu#3", ""},
		"transfer": {&p.Transfer, lease.Row{Version: 7, Owner: "us", Available: 23_000}, lease.ResourceRow("c", "r"), "c#p#us#3", ""},
		"supersede": {
			&p.Supersede, lease.Row{Version: 7, State: lease.Superseded, Winner: "us"}, lease.PrimaryKey{Partition: "K#c#p#k", Sort: "eu"}, "", "k",
		},
		"revoke":   {&p.Release, lease.Row{Version: 7, Available: 12_000}, lease.ResourceRow("c", "r"), "c#p#eu#3", "k"},
		"headroom": {nil, lease.Row{}, lease.PrimaryKey{Partition: "H#c#p", Sort: "eu"}, "", ""},
	}
	for _, c := range commands() {
		o, err := config().Make(c, 20_000)
		if err != nil {
			t.Fatal(err)
		}
		w := want[o.Kind]
		if o.Row != w.row || o.Bucket != w.bucket || o.Write.Args != w.args || o.Key != w.key || o.Write.Now != 20_000 || o.Write.Skew != 500 || o.Write.Region != "eu" {
			t.Errorf("%s: %+v", o.Kind, o)
		}
		if w.rule == nil {
			if o.Write.Rule != nil || o.Headroom == nil {
				t.Errorf("the request of a headroom has a rule: %+v", o)
			}
			continue
		}
		if o.Write.Rule.Name != w.rule.Name || len(o.Write.Rule.When) < len(w.rule.When) {
			t.Errorf("%s: %+v", o.Kind, o.Write.Rule)
		}
		for _, c := range w.rule.When {
			found := false
			for _, has := range o.Write.Rule.When {
				found = found || has == c
			}
			if !found {
				t.Errorf("%s lacks the condition %v", o.Kind, c)
			}
		}
	}
	if o, _ := config().Make(commands()[1], 20_000); len(lease.Protocol().Transfer.When) == len(o.Write.Rule.When) {
		t.Error("a transfer has no condition on the owner of the resource")
	}
}

// A command with one invalid field is invalid, and the error names the field.
func TestInvalid(t *testing.T) {
	for want, change := range map[string]func(c *eventspb.LeaseCommand){
		"id is empty":                    func(c *eventspb.LeaseCommand) { c.Id = "" },
		"client is empty":                func(c *eventspb.LeaseCommand) { c.Client = "" },
		"pool has 200 bytes":             func(c *eventspb.LeaseCommand) { c.Pool = strings.Repeat("p", 200) },
		`for region "us"`:                func(c *eventspb.LeaseCommand) { c.Region = "us" },
		"newer version of weir":          func(c *eventspb.LeaseCommand) { c.Command = nil },
		"which is before it":             func(c *eventspb.LeaseCommand) { c.GetLiberate().AvailableMs = 9999 },
		"ends at 0":                      func(c *eventspb.LeaseCommand) { c.GetLiberate().ExpiresMs = 0 },
		"resource is empty":              func(c *eventspb.LeaseCommand) { c.GetTransfer().Resource = "" },
		`to "eu"`:                        func(c *eventspb.LeaseCommand) { c.GetTransfer().To = "eu" },
		`to "asia"`:                      func(c *eventspb.LeaseCommand) { c.GetTransfer().To = "asia" },
		"version is 0":                   func(c *eventspb.LeaseCommand) { c.GetTransfer().Version = 0 },
		"version is 9223372036854775807": func(c *eventspb.LeaseCommand) { c.GetSupersede().Version = math.MaxInt64 },
		"0 buckets":                      func(c *eventspb.LeaseCommand) { c.GetTransfer().Buckets = 0 },
		"1001 buckets":                   func(c *eventspb.LeaseCommand) { c.GetLiberate().Buckets = 1001 },
		"winner":                         func(c *eventspb.LeaseCommand) { c.GetSupersede().Winner = "eu" },
		"key is empty":                   func(c *eventspb.LeaseCommand) { c.GetSupersede().Key = "" },
		"holder":                         func(c *eventspb.LeaseCommand) { c.GetRevoke().Holder = "k" },
		"available at 0":                 func(c *eventspb.LeaseCommand) { c.GetRevoke().AvailableMs = 0 },
		"not of the command's":           func(c *eventspb.LeaseCommand) { c.GetHeadroom().Pool = "q" },
		"as_of_ms of the headroom is 0":  func(c *eventspb.LeaseCommand) { c.GetHeadroom().AsOfMs = 0 },
		"NaN":                            func(c *eventspb.LeaseCommand) { c.GetHeadroom().Rate = math.NaN() },
		"+Inf":                           func(c *eventspb.LeaseCommand) { c.GetHeadroom().Spread = math.Inf(1) },
	} {
		found := false
		for _, c := range commands() {
			func() {
				defer func() { _ = recover() }() // the change is for another kind of command
				change(c)
				_, err := config().Make(c, 20_000)
				if errors.Is(err, ErrInvalid) && strings.Contains(err.Error(), want) {
					found = true
				}
			}()
		}
		if !found {
			t.Errorf("no command was refused with %q", want)
		}
	}
}

// For any row: the result of a write is DONE when any later attempt finds it, and an outcome other
// than DONE or EARLY means that the write can never be made.
func TestOutcomes(t *testing.T) {
	seen := map[eventspb.LeaseOutcome]int{}
	for seed := range uint64(20_000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		c := commands()[rng.IntN(4)]
		o, err := config().Make(c, 10_000+int64(rng.IntN(4000)))
		if err != nil {
			t.Fatal(err)
		}
		row := lease.Row{Version: 6 + int64(rng.IntN(4)), Resource: "r", State: lease.Leased, Owner: []string{"eu", "us"}[rng.IntN(5)/4]}
		if rng.IntN(2) == 0 {
			row.Holder, row.Expires = "p#k", 9500+int64(rng.IntN(2000))
		} else if rng.IntN(4) > 0 {
			row.Available = 9500 + int64(rng.IntN(4000))
		}
		if o.Kind == "supersede" {
			row.Owner, row.Holder, row.Available = "", "", 0
		}
		made := o.Write.Holds(&row)
		got, detail := o.Outcome(row, true, made)
		seen[got]++
		if (got == done) != (detail == "") {
			t.Fatalf("%v of %+v: %q", got, row, detail)
		}
		if made {
			after := o.Write.Apply(row)
			if got != done {
				t.Fatalf("the write was made, and the outcome is %v", got)
			}
			again, err := config().Make(c, o.Write.Now+5000)
			if err != nil {
				t.Fatal(err)
			}
			if got, detail := again.Outcome(after, true, false); got != done {
				t.Fatalf("%s of %+v, repeated: %v, %s", o.Kind, row, got, detail)
			}
			after.Version++
			if got, _ := again.Outcome(after, true, false); got != stale {
				t.Fatalf("%s of %+v, after one more write: %v", o.Kind, row, got)
			}
			continue
		}
		much, err := config().Make(c, 1_000_000)
		if err != nil {
			t.Fatal(err)
		}
		if can := much.Write.Holds(&row); can != (got == early) {
			t.Fatalf("%s of %+v is %v (%s), but whether it can be made later: %t", o.Kind, row, got, detail, can)
		}
	}
	if o, _ := config().Make(commands()[0], 20_000); o != nil {
		got, _ := o.Outcome(lease.Row{}, false, false)
		seen[got]++
	}
	for _, o := range []eventspb.LeaseOutcome{done, stale, early, missing} {
		if seen[o] == 0 {
			t.Errorf("no outcome was %v", o)
		}
	}
}

// A headroom row is replaced only by a newer one.
func TestHeadroomOutcome(t *testing.T) {
	o, err := config().Make(commands()[4], 20_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		asOf int64
		made bool
		want eventspb.LeaseOutcome
	}{{5, true, done}, {5, false, done}, {6, false, stale}, {0, false, stale}} {
		if got, _ := o.HeadroomOutcome(c.asOf, c.made); got != c.want {
			t.Errorf("as of %d, made %t: %v", c.asOf, c.made, got)
		}
	}
}

// Any bytes give an invalid command, or a request within DynamoDB's limits.
func FuzzMake(f *testing.F) {
	for _, c := range commands() {
		value, err := proto.Marshal(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		var c eventspb.LeaseCommand
		if proto.Unmarshal(value, &c) != nil {
			return
		}
		o, err := config().Make(&c, 20_000)
		if err != nil {
			if !errors.Is(err, ErrInvalid) || o != nil {
				t.Fatal(o, err)
			}
			return
		}
		if (o.Headroom == nil) == (o.Write.Rule == nil) || o.Kind == "" {
			t.Fatalf("%+v", o)
		}
		if n := len(o.Row.Partition); n == 0 || n > 2048 || len(o.Row.Sort) == 0 || len(o.Row.Sort) > 1024 || len(o.Bucket) > 2048 {
			t.Fatalf("the row %+v, the bucket %q", o.Row, o.Bucket)
		}
		if o.Write.Rule != nil && o.Write.Args.Version < 1 || (o.Bucket != "") != (o.Write.Args.Available > 0) {
			t.Fatalf("%+v", o)
		}
	})
}

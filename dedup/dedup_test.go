package dedup

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/streamtest"
)

func regions() []string { return []string{"ap", "eu", "us"} }

func testConfig() Config {
	return Config{Output: func(region string) (string, bool) {
		return events.LeaseCommandsTopic(region), slices.Contains(regions(), region)
	}}
}

// commands reports whether o goes to the commands of a region.
func commands(o stream.Change) bool {
	return strings.HasPrefix(o.Output(), events.LeaseCommandsTopic(""))
}

func newRunner(tb testing.TB, cfg Config) *streamtest.Runner {
	tb.Helper()
	return streamtest.New(tb, streamtest.Options{
		Partition: 3,
		Processor: stream.Processor{
			Inputs: []string{events.LeaseChangesTopic},
			New:    func(t stream.Task) (stream.Handler, error) { return New(cfg, t) },
		},
	})
}

func marshal(tb testing.TB, m proto.Message) []byte {
	tb.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func keyRow(region string, version int64, state lease.State) *eventspb.LeaseChange {
	return &eventspb.LeaseChange{Region: region, Client: "c", Pool: "p", Row: &eventspb.LeaseChange_Key{Key: &eventspb.LeaseKey{
		Key: "k", Region: region, Version: version, State: string(state), Resource: "r-" + region, ResourceVersion: 10 + version, ExpiresMs: 100_000, GrantedMs: 1000,
	}}}
}

func settings(version int64, mode string) *eventspb.LeaseChange {
	return &eventspb.LeaseChange{Region: "eu", Client: "c", Pool: "p", Row: &eventspb.LeaseChange_Settings{
		Settings: &eventspb.LeasePool{Version: version, QuarantineMs: 60_000, Buckets: 4, Duplicates: mode},
	}}
}

// TestTranscripts runs the scenario files of testdata. Their times are seconds.
func TestTranscripts(t *testing.T) {
	streamtest.Scenarios(t, "testdata/*.txt", func(t *testing.T) func(string) string {
		r := newRunner(t, testConfig())
		return func(line string) string { return runLine(t, r, strings.Fields(line)) }
	})
}

func ms(t *testing.T, s string) int64 {
	d, err := time.ParseDuration(s + "s")
	if err != nil {
		t.Fatal(err)
	}
	return d.Milliseconds()
}

func runLine(t *testing.T, r *streamtest.Runner, words []string) string {
	var c *eventspb.LeaseChange
	switch words[0] {
	case "commit":
		r.Commit(ms(t, words[1]))
		return describe(t, r)
	case "crash":
		r.Crash()
		r.Fold(r.Remaining())
		return ""
	case "settings":
		c = settings(1, words[1])
	default: // a region and a state
		c = keyRow(words[0], 1, lease.State(words[1]))
	}
	for _, w := range words[2:] {
		name, v, _ := strings.Cut(w, "=")
		k := c.GetKey()
		n, _ := strconv.ParseInt(v, 10, 64)
		switch {
		case name == "v" && k == nil:
			c.GetSettings().Version = n
		case name == "v":
			k.Version, k.ResourceVersion = n, 10+n
		case name == "until":
			k.ExpiresMs = ms(t, v)
		case name == "granted":
			k.GrantedMs = ms(t, v)
		case name == "winner":
			k.Winner = v
		case name == "gone":
			c.Gone = true
		default:
			t.Fatalf("unknown argument %q", w)
		}
	}
	r.Append(marshal(t, c))
	r.Fold(1)
	return ""
}

// describe prints the outputs since the last call, and the timer.
func describe(t *testing.T, r *streamtest.Runner) string {
	var out strings.Builder
	for _, x := range r.TakeRejects() {
		fmt.Fprintf(&out, "rejected: %s: %s\n", x.Reason, x.Detail)
	}
	for _, o := range r.TakeOutputs() {
		switch o.Output() {
		case events.LeaseDuplicatesTopic:
			if o.Value == nil {
				fmt.Fprintf(&out, "duplicates: %q is a tombstone\n", o.Key)
				continue
			}
			d := unmarshal(t, o.Value, &eventspb.LeaseDuplicate{})
			fmt.Fprintf(&out, "duplicates: %s, winner %s, since %s", d.State, d.Winner, seconds(d.SinceMs))
			if d.ResolvedMs > 0 {
				fmt.Fprintf(&out, " until %s", seconds(d.ResolvedMs))
			}
			for _, k := range d.Rows {
				fmt.Fprintf(&out, "; %s %s v%d", k.Region, k.State, k.Version)
			}
			out.WriteString("\n")
		case events.LeaseJournalTopic:
			n := unmarshal(t, o.Value, &eventspb.LeaseJournalEntry{})
			fmt.Fprintf(&out, "journal: %s: %s\n", n.Kind, n.Text)
		default:
			c := unmarshal(t, o.Value, &eventspb.LeaseCommand{})
			if o.Output() != events.LeaseCommandsTopic(c.Region) || o.To.Partition != 3 || string(o.Key) != "c\x00p" {
				t.Fatalf("output %s, partition %d, key %q for %v", o.Output(), o.To.Partition, o.Key, c)
			}
			if s := c.GetSupersede(); s != nil {
				fmt.Fprintf(&out, "%s: supersede v%d (%s), %s won; %s; id %s\n", c.Region, s.Version, s.Resource, s.Winner, c.Why, c.Id)
			}
			if s := c.GetRevoke(); s != nil {
				fmt.Fprintf(&out, "%s: revoke %s v%d of %s, available from %s, %d buckets\n", c.Region, s.Resource, s.Version, s.Holder, seconds(s.AvailableMs), s.Buckets)
			}
		}
	}
	for _, x := range r.Timers() {
		fmt.Fprintf(&out, "timer at %s\n", seconds(x.AtMs))
	}
	return out.String()
}

func unmarshal[M proto.Message](t testing.TB, b []byte, m M) M {
	t.Helper()
	if err := proto.Unmarshal(b, m); err != nil {
		t.Fatal(err)
	}
	return m
}

func seconds(ms int64) string { return strconv.FormatFloat(float64(ms)/1000, 'f', -1, 64) }

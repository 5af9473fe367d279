package liberator

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
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/streamtest"
)

func regions() []string { return []string{"eu", "us"} }

func testConfig() Config {
	return Config{Output: func(region string) (string, bool) {
		return events.LeaseCommandsTopic(region), slices.Contains(regions(), region)
	}}
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

func leased(resource string, version, expires int64) *eventspb.LeaseChange {
	return &eventspb.LeaseChange{Region: "eu", Client: "c", Pool: "p", AtMs: 1, Row: &eventspb.LeaseChange_Resource{
		Resource: &eventspb.LeaseResource{Resource: resource, Version: version, Owner: "eu", Holder: "p#k", ExpiresMs: expires},
	}}
}

func free(resource string, version, available int64) *eventspb.LeaseChange {
	c := leased(resource, version, 0)
	r := c.GetResource()
	r.Holder, r.AvailableMs = "", available
	return c
}

func settings(version, quarantine int64, buckets int32) *eventspb.LeaseChange {
	return &eventspb.LeaseChange{Region: "eu", Client: "c", Pool: "p", Row: &eventspb.LeaseChange_Settings{
		Settings: &eventspb.LeasePool{Version: version, QuarantineMs: quarantine, Buckets: buckets},
	}}
}

// commands returns the commands since the last call, and checks their topic and key.
func commands(tb testing.TB, r *streamtest.Runner) (list []*eventspb.LeaseCommand) {
	tb.Helper()
	for _, o := range r.TakeOutputs() {
		c := &eventspb.LeaseCommand{}
		if err := proto.Unmarshal(o.Value, c); err != nil {
			tb.Fatal(err)
		}
		if o.Output() != events.LeaseCommandsTopic(c.Region) || o.To.Partition != 3 || string(o.Key) != c.Client+"\x00"+c.Pool {
			tb.Fatalf("output %s, partition %d, key %q for %v", o.Output(), o.To.Partition, o.Key, c)
		}
		list = append(list, c)
	}
	return list
}

// TestTranscripts runs the scenario files of testdata. Their times are seconds.
func TestTranscripts(t *testing.T) {
	streamtest.Scenarios(t, "testdata/*.txt", func(t *testing.T) func(string) string {
		r := newRunner(t, testConfig())
		return func(line string) string { return runLine(t, r, strings.Fields(line)) }
	})
}

func runLine(t *testing.T, r *streamtest.Runner, words []string) string {
	arg := func(name string) (string, bool) {
		for _, w := range words {
			if v, ok := strings.CutPrefix(w, name+"="); ok {
				return v, true
			}
		}
		return "", false
	}
	ms := func(name string) int64 {
		v, _ := arg(name)
		d, err := time.ParseDuration(v + "s")
		if err != nil && v != "" {
			t.Fatal(err)
		}
		return d.Milliseconds()
	}
	num := func(name string) int64 {
		v, _ := arg(name)
		n, _ := strconv.ParseInt(v, 10, 64)
		return n
	}
	add := func(c *eventspb.LeaseChange) {
		if owner, ok := arg("owner"); ok {
			c.GetResource().Owner = owner
		}
		_, c.Gone = arg("gone")
		_, c.Scanned = arg("scanned")
		r.Append(marshal(t, c))
		r.Fold(1)
	}
	switch words[0] {
	case "settings":
		add(settings(num("v"), ms("quarantine"), int32(num("buckets"))))
	case "leased":
		add(leased(words[1], num("v"), ms("until")))
	case "free":
		add(free(words[1], num("v"), ms("from")))
	case "retired":
		add(free(words[1], num("v"), 0))
	case "crash":
		r.Crash()
		r.Fold(r.Remaining())
	case "commit":
		d, err := time.ParseDuration(words[1] + "s")
		if err != nil {
			t.Fatal(err)
		}
		r.Commit(d.Milliseconds())
	default:
		t.Fatalf("unknown command %q", words[0])
	}
	return describe(t, r)
}

func describe(t *testing.T, r *streamtest.Runner) string {
	var out strings.Builder
	for _, x := range r.TakeRejects() {
		fmt.Fprintf(&out, "rejected: %s: %s\n", x.Reason, x.Detail)
	}
	for _, c := range commands(t, r) {
		l := c.GetLiberate()
		fmt.Fprintf(&out, "%s: liberate %s at version %d, lease until %s, available from %s, %d buckets; %s; id %s\n", c.Region, l.Resource, l.Version,
			seconds(l.ExpiresMs), seconds(l.AvailableMs), l.Buckets, c.Why, c.Id)
	}
	for _, x := range r.Timers() {
		fmt.Fprintf(&out, "timer of %s at %s\n", strings.Split(string(x.Key), "\x00")[2], seconds(x.AtMs))
	}
	return out.String()
}

func seconds(ms int64) string { return strconv.FormatFloat(float64(ms)/1000, 'f', -1, 64) }

//go:build synctests

package leaseloop

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api/metrics"
	"github.com/weirhq/weir/dedup"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/obs"
	"github.com/weirhq/weir/liberator"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

const leaseTasks = 2

// changed produces changes to partition 1.
func changed(t *testing.T, w *processorstest.Harness, list ...*eventspb.LeaseChange) {
	t.Helper()
	for _, c := range list {
		c.Client, c.Pool = "c", "p"
		value, err := proto.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		w.Produce(events.LeaseChangesTopic, 1, "c\x00p", string(value))
	}
}

func poolRow() *eventspb.LeaseChange {
	return &eventspb.LeaseChange{Row: &eventspb.LeaseChange_Settings{Settings: &eventspb.LeasePool{Version: 1, QuarantineMs: 60_000, Buckets: 4}}}
}

func commandsOf(t *testing.T, w *processorstest.Harness, region string) (list []*eventspb.LeaseCommand) {
	t.Helper()
	for _, r := range w.Records(events.LeaseCommandsTopic(region)) {
		c := &eventspb.LeaseCommand{}
		if err := proto.Unmarshal(r.Value, c); err != nil {
			t.Fatal(err)
		}
		if r.Partition != 1 {
			t.Errorf("%v in partition %d", c, r.Partition)
		}
		list = append(list, c)
	}
	return list
}

// TestLiberatorSurvivesKills kills the process at every failpoint while leases begin and end. The
// first command for each lease comes in time, and commands repeat until the stream shows the end of
// the lease.
func TestLiberatorSurvivesKills(t *testing.T) {
	registry := obs.NewRegistry("test")
	proc, err := liberator.ProcessorConfig{Regions: []string{"us", "eu"}, Partitions: leaseTasks}.Processor()
	if err != nil {
		t.Fatal(err)
	}
	processorstest.Run(t, processorstest.Options{Processor: metrics.NewLease(registry).Meter(proc, nil)}, func(t *testing.T, w *processorstest.Harness) {
		ends := map[string]int64{}
		row := func(name string, version int64) *eventspb.LeaseChange {
			ends[name] = time.Now().UnixMilli() + 3000
			return &eventspb.LeaseChange{Row: &eventspb.LeaseChange_Resource{Resource: &eventspb.LeaseResource{
				Resource: name, Version: version, Owner: "eu", Holder: "p#k", ExpiresMs: ends[name],
			}}}
		}
		p := w.Start("a")
		changed(t, w, poolRow())
		for i, failpoint := range processorstest.Failpoints() {
			w.CaughtUp()
			changed(t, w, row(fmt.Sprint("begun-", i), 1), row(fmt.Sprint("renewed-", i), 1))
			time.Sleep(1500 * time.Millisecond)
			changed(t, w, row(fmt.Sprint("renewed-", i), 2))
			p.KillAt(failpoint)
			if err := p.Await(); err != processorstest.ErrKilled {
				t.Fatalf("the process did not crash at %q: %v", failpoint, err)
			}
			p = w.Start("a")
			w.CaughtUp()
		}
		time.Sleep(10 * time.Second)
		first := map[string]int64{}
		for _, c := range commandsOf(t, w, "eu") {
			l := c.GetLiberate()
			if l.ExpiresMs != ends[l.Resource] || l.AvailableMs != l.ExpiresMs+60_000 || c.DecidedMs < l.ExpiresMs+1000 {
				t.Errorf("command %v", c)
			}
			if first[l.Resource] == 0 {
				first[l.Resource] = c.DecidedMs
			}
		}
		for name, end := range ends {
			// After a crash at a bad moment the process needs a takeover.
			if late := first[name] - end; late > 15_000 || first[name] == 0 {
				t.Errorf("%s was ended %d ms after its end", name, late)
			}
		}
		var all []*eventspb.LeaseChange
		for name := range ends {
			all = append(all, &eventspb.LeaseChange{Row: &eventspb.LeaseChange_Resource{Resource: &eventspb.LeaseResource{
				Resource: name, Version: 9, Owner: "eu", AvailableMs: 1,
			}}})
		}
		changed(t, w, all...)
		w.CaughtUp()
		sent := len(commandsOf(t, w, "eu"))
		time.Sleep(20 * time.Minute)
		if n := len(commandsOf(t, w, "eu")); n != sent {
			t.Errorf("%d commands for leases that have ended in the stream", n-sent)
		}
		if n := len(w.State(1, liberator.TableResources)); n != len(ends) {
			t.Errorf("%d resources, want %d", n, len(ends))
		}
		ids := map[string]bool{}
		for _, c := range commandsOf(t, w, "eu") {
			if ids[c.Id] {
				t.Errorf("two commands with id %s", c.Id)
			}
			ids[c.Id] = true
		}
		wantMetrics(t, registry, map[string]float64{
			"weir_liberator_commands_total": float64(len(ends)), "weir_liberator_leases": 0,
			"weir_liberator_lease_end_to_command_seconds": float64(len(ends)),
		})
	})
}

// TestDedupSurvivesKills kills the process at every failpoint while two regions lease a key. The
// same lease is always superseded, and each duplicate is reported and resolved once.
func TestDedupSurvivesKills(t *testing.T) {
	registry := obs.NewRegistry("test")
	proc, err := dedup.ProcessorConfig{Regions: []string{"us", "eu"}, Partitions: leaseTasks}.Processor()
	if err != nil {
		t.Fatal(err)
	}
	processorstest.Run(t, processorstest.Options{Processor: metrics.NewLease(registry).Meter(proc, nil)}, func(t *testing.T, w *processorstest.Harness) {
		row := func(key, region, state string, version int64) *eventspb.LeaseChange {
			granted := int64(2000)
			if region == "us" {
				granted = 1000
			}
			return &eventspb.LeaseChange{Row: &eventspb.LeaseChange_Key{Key: &eventspb.LeaseKey{
				Key: key, Region: region, Version: version, State: state, Resource: region + key, ResourceVersion: 1, GrantedMs: granted,
				ExpiresMs: time.Now().UnixMilli() + 600_000, Winner: map[string]string{"superseded": "us"}[state],
			}}}
		}
		p := w.Start("a")
		changed(t, w, poolRow())
		for i, failpoint := range processorstest.Failpoints() {
			w.CaughtUp()
			key := fmt.Sprint("k", i)
			changed(t, w, row(key, "eu", "leased", 1))
			w.CaughtUp()
			p.KillAt(failpoint)
			changed(t, w, row(key, "us", "leased", 1))
			if err := p.Await(); err != processorstest.ErrKilled {
				t.Fatalf("the process did not crash at %q: %v", failpoint, err)
			}
			p = w.Start("a")
			w.CaughtUp()
		}
		time.Sleep(40 * time.Second) // each command is repeated
		commands := map[string]int{}
		for _, c := range commandsOf(t, w, "eu") {
			if s := c.GetSupersede(); s.Version != 1 || s.Winner != "us" {
				t.Errorf("command %v", c)
			}
			commands[c.GetSupersede().Key]++
		}
		for i := range processorstest.Failpoints() {
			key := fmt.Sprint("k", i)
			if commands[key] < 2 {
				t.Errorf("%s received %d commands", key, commands[key])
			}
			changed(t, w, row(key, "eu", "superseded", 2))
		}
		w.CaughtUp()
		sent := len(commandsOf(t, w, "eu"))
		time.Sleep(2 * time.Hour)
		if n, us := len(commandsOf(t, w, "eu")), len(commandsOf(t, w, "us")); n != sent || us > 0 {
			t.Errorf("%d commands for resolved duplicates, %d to the winner", n-sent, us)
		}
		var states []string
		for _, r := range w.Records(events.LeaseDuplicatesTopic) {
			d := &eventspb.LeaseDuplicate{}
			if err := proto.Unmarshal(r.Value, d); err != nil {
				t.Fatal(err)
			}
			states = append(states, fmt.Sprintf("%q %s", r.Key, d.State))
		}
		var want []string
		for i := range processorstest.Failpoints() {
			for _, s := range []string{"", "resolved", "superseding"} {
				want = append(want, fmt.Sprintf("%q %s", fmt.Sprint("c\x00p\x00k", i), s))
			}
		}
		slices.Sort(states)
		if !slices.Equal(states, want) {
			t.Errorf("duplicates %q, want %q", states, want)
		}
		if n := len(w.Records(events.LeaseJournalTopic)); n != 2*len(processorstest.Failpoints()) {
			t.Errorf("%d journal entries", n)
		}
		if n := len(w.State(1, dedup.TableKeys)); n > 0 {
			t.Errorf("%d keys are still in the state", n)
		}
		n := float64(len(processorstest.Failpoints()))
		wantMetrics(t, registry, map[string]float64{
			"weir_dedup_duplicates_total": n, "weir_dedup_resolved_duplicates_total": n, "weir_dedup_resolution_seconds": n,
			"weir_dedup_repeated_commands_total": n, "weir_dedup_open_duplicates": 0, "weir_dedup_keys": 0,
		})
	})
}

// wantMetrics compares gauges, and checks that counters and histograms have at least the given
// counts: a transaction that died after its Flush counts again.
func wantMetrics(t *testing.T, g prometheus.Gatherer, want map[string]float64) {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			got[f.GetName()] += m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
		if f.GetType() == dto.MetricType_GAUGE && got[f.GetName()] != want[f.GetName()] && strings.HasPrefix(f.GetName(), "weir_") && f.GetName() != "weir_build_info" {
			t.Errorf("%s is %v, want %v", f.GetName(), got[f.GetName()], want[f.GetName()])
		}
	}
	for name, n := range want {
		if value, ok := got[name]; !ok || value < n {
			t.Errorf("%s is %v (%t), want at least %v", name, value, ok, n)
		}
	}
}

// TestLeaseTopics: every topic of the processors is in the catalogue.
func TestLeaseTopics(t *testing.T) {
	regions := []string{"us", "eu"}
	known := map[string]bool{}
	for _, topic := range events.LeaseCatalog(regions, 0) {
		known[topic.Name] = true
	}
	l, err := liberator.ProcessorConfig{Regions: regions}.Processor()
	if err != nil {
		t.Fatal(err)
	}
	d, err := dedup.ProcessorConfig{Regions: regions}.Processor()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []stream.Processor{l, d} {
		p.SetDefaults()
		for _, name := range append(p.WrittenTopics(), p.Inputs...) {
			if !known[name] {
				t.Errorf("%s names topic %s, which is not in the catalogue", p.App, name)
			}
		}
		if p.Partitions != events.DefaultLeasePartitions {
			t.Errorf("%s has %d partitions", p.App, p.Partitions)
		}
	}
	if _, err := (dedup.ProcessorConfig{}).Processor(); err == nil {
		t.Error("a dedup without regions was accepted")
	}
}

package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/obs"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
	"github.com/weirhq/weir/stream"
)

const home = "eu-west-1"

// bubble runs a test of one region in virtual time.
func bubble(t *testing.T, profile dynamotest.Profile, f func(t *testing.T, w *fixture, h *host)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, profile, 1, home)
		defer w.cloud.Close()
		w.cfg.HeartbeatInterval = -1
		h := w.host(home, 1)
		defer func() {
			if h.bridge != nil {
				h.end()
			}
		}()
		f(t, w, h)
	})
}

// known returns the greatest version of each resource in the changes, and the number of scanned
// changes.
func (h *host) known() (versions map[string]int64, scanned int) {
	versions = map[string]int64{}
	for _, c := range h.changes() {
		if r := c.GetResource(); r != nil {
			versions[r.Resource] = max(versions[r.Resource], r.Version)
		}
		if c.Scanned {
			scanned++
		}
	}
	return versions, scanned
}

// complete returns an error unless the changes have the last version of each row.
func (h *host) complete() error {
	got, _ := h.known()
	for name, v := range h.w.versions(h.region) {
		if got[name] != v {
			return fmt.Errorf("%s is at version %d, readers have version %d", name, v, got[name])
		}
	}
	return nil
}

// TestTrimmed holds that a bridge which was away for longer than the retention of the stream
// reports the gap once, and repairs it with a scan.
func TestTrimmed(t *testing.T) {
	for name, rollover := range map[string]time.Duration{"the shard is still open": 0, "its shards are gone": time.Hour, "its children are gone": 5 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			bubble(t, dynamotest.Profile{Shards: 2, Rollover: rollover}, func(t *testing.T, w *fixture, h *host) {
				ctx := t.Context()
				w.cfg.SweepInterval = -1 // otherwise a sweep would be due, too
				write := func(from, to int) {
					for i := from; i < to; i++ {
						if err := w.resource(ctx, home, fmt.Sprintf("r%d", i), "p"); err != nil {
							t.Fatal(err)
						}
					}
				}
				write(0, 20)
				during(func() { sleep(time.Minute) }, h)
				h.end()
				_, before := h.known()
				if len(h.notes("gap")) > 0 || before != 20 {
					t.Fatalf("%d gaps at the first start, %d rows scanned", len(h.notes("gap")), before)
				}
				write(10, 30)
				sleep(26 * time.Hour)
				write(25, 35)
				during(func() { sleep(time.Minute) }, h)
				_, after := h.known()
				if notes := h.notes("gap"); len(notes) == 0 || after != before+35 {
					t.Errorf("gaps %v, %d rows scanned after %d", notes, after, before)
				}
				if err := h.complete(); err != nil {
					t.Error(err)
				}
				notes := len(h.notes("gap"))
				h.end() // the next handler finds no gap
				write(0, 5)
				during(func() { sleep(time.Minute) }, h)
				if len(h.notes("gap")) != notes {
					t.Errorf("another gap: %v", h.notes("gap"))
				}
			})
		})
	}
}

// TestNewStream disables the stream and enables another one: the old stream is read to its end,
// then the new one, and a scan finds the rows that changed between them.
func TestNewStream(t *testing.T) {
	for name, trip := range map[string]func(*http.Request, http.RoundTripper) (*http.Response, error){
		"as on AWS":                        func(r *http.Request, to http.RoundTripper) (*http.Response, error) { return to.RoundTrip(r) },
		"its last shards have no end":      endless,
		"listings cannot filter by parent": childless,
	} {
		t.Run(name, func(t *testing.T) { newStream(t, trip) })
	}
}

// endless makes the shards of a disabled stream appear without an end.
func endless(r *http.Request, to http.RoundTripper) (*http.Response, error) {
	if operation(r) != "GetRecords" {
		return to.RoundTrip(r)
	}
	var in struct{ ShardIterator string }
	body(r, func(s string) string { _ = json.Unmarshal([]byte(s), &in); return s })
	out, err := to.RoundTrip(r)
	if err != nil || out.StatusCode != http.StatusOK {
		return out, err
	}
	var page map[string]json.RawMessage
	if err := errors.Join(json.NewDecoder(out.Body).Decode(&page), out.Body.Close()); err != nil {
		return nil, err
	}
	if page["NextShardIterator"] == nil && string(page["Records"]) == "[]" {
		return answer(r, http.StatusOK, `{"Records":[],"NextShardIterator":"`+in.ShardIterator+`"}`), nil
	}
	text, err := json.Marshal(page)
	return answer(r, http.StatusOK, string(text)), err
}

// childless refuses requests with a filter of shards.
func childless(r *http.Request, to http.RoundTripper) (*http.Response, error) {
	filtered := false
	if operation(r) == "DescribeStream" {
		body(r, func(s string) string { filtered = strings.Contains(s, "ShardFilter"); return s })
	}
	if filtered {
		return answer(r, http.StatusBadRequest, `{"__type":"com.amazon.coral.validate#ValidationException","message":"unknown"}`), nil
	}
	return to.RoundTrip(r)
}

func newStream(t *testing.T, trip func(*http.Request, http.RoundTripper) (*http.Response, error)) {
	bubble(t, dynamotest.Profile{RolloverRecords: 2}, func(t *testing.T, w *fixture, h *host) {
		w.trip, w.cfg.ListInterval = trip, 10*time.Second
		set := func(on bool) {
			spec := &types.StreamSpecification{StreamEnabled: aws.Bool(on)}
			if on {
				spec.StreamViewType = types.StreamViewTypeNewAndOldImages
			}
			if _, err := w.cloud.Region(home).Client().UpdateTable(t.Context(), &dynamodb.UpdateTableInput{TableName: aws.String(testTable), StreamSpecification: spec}); err != nil {
				t.Fatal(err)
			}
		}
		step := func(name string) {
			if err := w.resource(t.Context(), home, name, "p"); err != nil {
				t.Fatal(err)
			}
			sleep(3 * time.Second)
		}
		during(func() {
			step("a")
			h.between(func() { h.aborts = 0.1 })
			sleep(time.Minute)
			step("a")
			set(false)
			step("b") // no stream has it
			set(true)
			step("a")
			sleep(time.Minute)
			step("a")
			h.between(func() { h.aborts = 0 }) // a shard without an end must be quiet for a minute
			sleep(2 * time.Minute)
		}, h)
		if err := h.complete(); err != nil {
			t.Error(err)
		}
		if streams := strings.Count(strings.Join(h.keys(streamTable), "\n"), "stream/"); streams != 2 {
			t.Fatalf("the state knows %d streams: %q", streams, h.keys(streamTable))
		}
		for _, k := range h.keys(shardTable) {
			if arn, _, _ := strings.Cut(k, "\x00"); arn == h.keys(streamTable)[0] && arn < h.keys(streamTable)[1] {
				t.Errorf("shard %q of a stream that ended is kept", k)
			}
		}
		h.end()
		sleep(49 * time.Hour)
		set(false)
		during(func() { sleep(time.Minute); set(true); sleep(time.Minute) }, h)
		if n := len(h.keys(streamTable)); n > 2 {
			t.Errorf("%d streams are never forgotten", n)
		}
	})
}

func (h *host) keys(table byte) (list []string) {
	for k := range h.state {
		if k[0] == table {
			list = append(list, k[1:])
		}
	}
	slices.Sort(list)
	return list
}

// TestScans holds that a requested scan reads all rows of the region and continues at its position
// after each abort, that unknown control records are rejected, and that a sweep follows by itself.
func TestScans(t *testing.T) {
	bubble(t, dynamotest.Profile{}, func(t *testing.T, w *fixture, h *host) {
		w.cfg.ScanRate, w.cfg.SweepInterval, w.cfg.ListInterval, w.cfg.PollMax = 20, 2*time.Hour, time.Hour, time.Minute
		for i := range 200 {
			if err := w.resource(t.Context(), home, fmt.Sprintf("r%d", i), "p"); err != nil {
				t.Fatal(err)
			}
		}
		h.aborts = 0.2
		during(func() { sleep(30 * time.Second) }, h)
		if _, n := h.known(); n != 200 { // at 20 per second, each page once in spite of aborts
			t.Errorf("the first scan found %d rows of 200", n)
		}
		b := &stream.Batch{Records: []stream.Record{{Value: []byte("scan it")}, {}}}
		if h.bridge == nil {
			h.open()
		}
		if err := h.bridge.Fold(b); err != nil || len(b.Rejects) != 2 || b.Rejects[0].Reason != "unknown_control" {
			t.Errorf("unknown control records: %v, %v", b.Rejects, err)
		}
		h.control = []stream.Record{{Value: []byte(ControlScan)}}
		during(func() { sleep(30 * time.Second) }, h)
		if _, n := h.known(); n != 400 {
			t.Errorf("after the requested scan, %d rows of 400", n)
		}
		if notes := h.notes("scan"); len(notes) != 2 || notes[1].Count != 200 || !strings.HasSuffix(notes[1].Text, ": asked for.") {
			t.Errorf("the journal has %v of two scans", notes)
		}
		h.aborts = 0
		during(func() { sleep(2 * time.Hour) }, h)
		if _, n := h.known(); n != 600 {
			t.Errorf("after a sweep, %d rows of 600", n)
		}
		var s scanState
		if err := json.Unmarshal(h.state[string(scanTable)+sweepKey], &s); err != nil || !s.Done || s.Rows != 200 {
			t.Errorf("sweep %+v, %v", s, err)
		}
	})
}

// TestSweepRepairs holds that a sweep repairs what the stream lost silently.
func TestSweepRepairs(t *testing.T) {
	bubble(t, dynamotest.Profile{}, func(t *testing.T, w *fixture, h *host) {
		w.cfg.SweepInterval, w.cfg.PollMax = time.Hour, 4*time.Second
		during(func() {
			sleep(time.Minute)
			h.between(func() {
				h.mutate = func(ch *stream.Changes) {
					ch.List = slices.DeleteFunc(ch.List, func(c stream.Change) bool { return c.Op == stream.OpEmit })
				}
			})
			_ = w.resource(t.Context(), home, "lost", "p")
			sleep(5 * time.Second)
			h.between(func() {
				h.mutate = func(*stream.Changes) {}
				if h.complete() == nil {
					t.Error("the change was not lost")
				}
			})
			sleep(2 * time.Hour)
		}, h)
		if err := h.complete(); err != nil {
			t.Error(err)
		}
	})
}

// TestRegionDown holds that the bridge of a region that does not answer keeps running, reports the
// problem and the lag, and continues when the region is back. The other bridge is not affected.
func TestRegionDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		regions := []string{home, "us-east-1"}
		w := newFixture(t, dynamotest.Profile{Rollover: 10 * time.Second}, 1, regions...)
		defer w.cloud.Close()
		w.cfg.Registry, w.cfg.PollMax = &StatusRegistry{}, 3*time.Second
		a, b := w.host(home, 1), w.host("us-east-1", 2)
		during(func() {
			sleep(10 * time.Second)
			w.cloud.SetFaults(dynamotest.Fault{Kind: dynamotest.Unreachable, Rate: 1, Region: "us-east-1"})
			_ = w.resource(t.Context(), home, "r", "p")
			sleep(20 * time.Minute)
			list := w.cfg.Registry.List()
			if len(list) != 2 || list[0].Problem != "" || list[0].LagMs != 0 || list[1].Problem == "" || list[1].LagMs < (19*time.Minute).Milliseconds() {
				t.Errorf("while a region is down: %+v", list)
			}
			w.cloud.SetFaults()
			_ = w.resource(t.Context(), "us-east-1", "s", "p")
			sleep(time.Minute)
			if list := w.cfg.Registry.List(); list[1].Problem != "" || list[1].LagMs != 0 || list[1].Shards == 0 {
				t.Errorf("when it is back: %+v", list)
			}
		}, a, b)
		for _, h := range []*host{a, b} {
			h.end()
			if err := h.check(); err != nil {
				t.Error(err)
			}
		}
		if list := w.cfg.Registry.List(); len(list) > 0 {
			t.Errorf("the registry still has %v", list)
		}
		// Heartbeats of both regions are emitted to all partitions, at most one per second.
		seen := map[string][]*eventspb.LeaseHeartbeat{}
		for _, c := range a.changes() {
			if x := c.GetHeartbeat(); x != nil {
				seen[x.From] = append(seen[x.From], x)
			}
		}
		for _, from := range regions {
			beats := seen[from]
			if len(beats) == 0 || len(beats)%4 != 0 {
				t.Fatalf("%d heartbeats of %s in 4 partitions", len(beats), from)
			}
			for i := 4; i < len(beats); i += 4 {
				if beats[i].SeenMs-beats[i-4].SeenMs < 1000 || beats[i].WrittenMs > beats[i].SeenMs {
					t.Errorf("heartbeats %v and %v", beats[i-4], beats[i])
				}
			}
		}
		if n := len(seen[home]) / 4; n < 200 || n > 700 {
			t.Errorf("%d heartbeats in 20 minutes, written every 2 s", n)
		}
	})
}

// TestRejects holds that records that do not follow the schema are in lease.rejected with a reason,
// and that the records after them are read.
func TestRejects(t *testing.T) {
	bubble(t, dynamotest.Profile{}, func(t *testing.T, w *fixture, h *host) {
		w.cfg.Metrics = NewMetrics(obs.NewRegistry("test"))
		during(func() {
			for _, p := range []lease.PrimaryKey{{Partition: "user#1", Sort: "x"}, lease.ResourceRow("c", "no-pool"), lease.ResourceRow("c", "r")} {
				set := map[string]types.AttributeValue{table.Owner: table.S(home)}
				if p.Sort == "r" {
					set[table.PoolID] = table.S("p")
				}
				if err := w.update(t.Context(), home, p, set); err != nil {
					t.Fatal(err)
				}
			}
			sleep(time.Minute)
		}, h)
		var got []string
		for _, o := range h.log {
			r := &eventspb.LeaseReject{}
			if o.topic == events.LeaseRejectedTopic && proto.Unmarshal(o.value, r) == nil {
				got = append(got, r.Reason+" "+r.SortKey)
				if !json.Valid([]byte(r.Record)) || !strings.Contains(r.Record, r.SortKey) || r.Sequence == "" {
					t.Errorf("%v", r)
				}
			}
		}
		if !slices.Equal(got, []string{ReasonPartition + " x", ReasonMissing + " no-pool"}) {
			t.Errorf("rejected %q", got)
		}
		if known, _ := h.known(); known["r"] != 1 {
			t.Error("the record after the rejected ones is missing")
		}
	})
}

// TestNothingBeforeTheFirstFlush holds that a handler that was not flushed makes no request.
func TestNothingBeforeTheFirstFlush(t *testing.T) {
	bubble(t, dynamotest.Profile{}, func(t *testing.T, w *fixture, h *host) {
		w.trip = nil // a request would panic
		h.open()
		sleep(time.Minute)
		h.end()
	})
}

// TestQueueIsBounded holds that memory is bounded while there is no Flush.
func TestQueueIsBounded(t *testing.T) {
	bubble(t, dynamotest.Profile{Shards: 4}, func(t *testing.T, w *fixture, h *host) {
		w.cfg.QueueBytes, w.cfg.Requests = 10_000, 2
		rng := rand.New(rand.NewPCG(1, 1))
		for range 2000 {
			if err := w.resource(t.Context(), home, fmt.Sprintf("r%d", rng.IntN(500)), "p"); err != nil {
				t.Fatal(err)
			}
		}
		registry := prometheus.NewRegistry()
		w.cfg.Metrics = NewMetrics(registry)
		h.turn()
		sleep(time.Minute)
		// One response is taken when there is just room, whatever its size: here at most 120 KB.
		if n := queuedBytes(t, registry); n < 10_000 || n > 200_000 {
			t.Errorf("%v bytes are queued", n)
		}
		during(func() { sleep(time.Minute) }, h)
		if err := h.check(); err != nil {
			t.Error(err)
		}
	})
}

// queuedBytes returns the metric of one region.
func queuedBytes(t *testing.T, registry *prometheus.Registry) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "weir_bridge_queued_bytes" && len(f.GetMetric()) == 1 {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatal("no metric of the queue")
	return 0
}

// TestRowsOfTheSchema holds which kind of row each primary key is.
func TestRowsOfTheSchema(t *testing.T) {
	for p, want := range map[lease.PrimaryKey]rowKind{
		lease.ResourceRow("a#b", "r"): resourceRow, {Partition: lease.KeyPartition("c", "p", "k"), Sort: home}: keyRow, lease.PoolRow("c", "p"): poolRow,
		lease.ClientRow("c"): skippedRow, lease.RegionRow(home): regionRow, lease.HeartbeatRow(home): heartbeatRow, lease.ImportRow("c", "x"): skippedRow,
		{Partition: lease.DemandRow("c", "p", "eu").Partition, Sort: home}: demandRow, {Partition: "H#c#p", Sort: home}: skippedRow,
		{}: unknownRow, {Partition: "R"}: unknownRow, {Partition: "G#x"}: unknownRow, {Partition: "B#"}: unknownRow, {Partition: "H"}: unknownRow,
		{Partition: "C#c", Sort: "p"}: unknownRow, {Partition: "RR#c#1"}: unknownRow, {Partition: "X#c"}: unknownRow, {Partition: "K#c#p"}: unknownRow,
	} {
		if got := rowOf(p); got.kind != want {
			t.Errorf("%q is row kind %d, want %d", p, got.kind, want)
		}
	}
}

//go:build synctests

package processors_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/internal/invariant"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/ledger"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// ledgerStore is the content of the store that has applied most of a partition's changelog.
type ledgerStore struct {
	invariant.Store
	timers map[string]bool // clock, time and key
}

// readStores reads each partition from the process that has applied most of its changelog.
func (r *crashRun) readStores() map[int32]ledgerStore {
	out := map[int32]ledgerStore{}
	for _, p := range r.procs {
		snap, err := p.Runtime().Snapshot()
		if err != nil { // it does not run
			continue
		}
		for q := range int32(parts) {
			m, err := snap.Meta(q)
			if err != nil || m.ChangelogNext <= out[q].ChangelogNext {
				continue
			}
			s := ledgerStore{timers: map[string]bool{}}
			s.State, s.ChangelogNext, s.Next = map[string]string{}, m.ChangelogNext, changelogpb.NextOffsets(m.GetMarker().GetInputs())
			err = snap.Scan(q, ledger.Table, nil, func(k, v []byte) error { s.State[string(k)] = string(v); return nil })
			err = errors.Join(err, snap.Scan(q, stream.TimerTable, nil, func(k, _ []byte) error { s.timers[string(k)] = true; return nil }))
			if err != nil {
				r.t.Errorf("read the store of process %s: %v", p.Name(), err)
			}
			out[q] = s
		}
		if err := snap.Close(); err != nil {
			r.t.Error(err)
		}
	}
	return out
}

// check compares the outputs, the dead letters and the state with the inputs. The harness checks
// the changelog, the offsets, and the stores after the end of the processes.
func (r *crashRun) check(timed bool) {
	stores := r.readStores()
	h := &invariant.History{Stores: map[int32]invariant.Store{}}
	for q, s := range stores {
		h.Stores[q] = s.Store
	}
	for _, rec := range slices.Concat(r.Records("in"), r.Records("in2")) {
		n, err := strconv.ParseInt(string(rec.Value), 10, 64)
		if err != nil { // "bad" and "poison"
			n = 0
		}
		h.Inputs = append(h.Inputs, invariant.Input{At: positionOf(rec), Key: string(rec.Key), Amount: n})
	}
	for _, rec := range r.Records("out") {
		h.Outputs = append(h.Outputs, invariant.Output{At: positionOf(rec), Cause: ledger.ParseOrigin(string(rec.Value))})
	}
	for _, rec := range r.Records(ledger.App + ".dlq") {
		h.DeadLetters = append(h.DeadLetters, ledger.ParseOrigin(string(rec.Key)))
	}
	r.counts["inputs"], r.counts["letters"] = len(h.Inputs), len(h.DeadLetters)
	r.errs = append(r.errs, invariant.ExactlyOnce(h), invariant.Fold(h, recount), invariant.Sum(h, ledger.Decode), invariant.OutputCause(h))
	if timed {
		r.errs = append(r.errs, checkTimers(r.Harness, stores))
	}
}

func positionOf(r *kgo.Record) invariant.Position {
	return invariant.Position{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}
}

// recount adds up the inputs by partition and key, and returns the sums as the ledger stores them.
func recount(in []invariant.Input) map[int32]map[string]string {
	out := map[int32]map[string]string{}
	sums := map[int32]map[string]int64{}
	for _, r := range in {
		if sums[r.At.Partition] == nil {
			sums[r.At.Partition], out[r.At.Partition] = map[string]int64{}, map[string]string{}
		}
		sums[r.At.Partition][r.Key] += r.Amount
		out[r.At.Partition][r.Key] = string(ledger.Encode(sums[r.At.Partition][r.Key]))
	}
	return out
}

// checkTimers compares the timers that fired with the accepted records. Every timer fires once and
// not early, and no timer that is due is left.
func checkTimers(h *processorstest.Harness, stores map[int32]ledgerStore) error {
	var errs []error
	accepted, times := map[string]bool{}, map[string]int64{}
	for _, r := range h.Records("out") {
		accepted[string(r.Value)] = true
	}
	for _, r := range slices.Concat(h.Records("in"), h.Records("in2")) {
		times[ledger.Origin(r.Topic, r.Partition, r.Offset)] = r.Timestamp.UnixMilli()
	}
	log := h.Records("log")
	watermarks, err := lastWatermarks(log)
	errs = append(errs, err)
	fired := map[string]int{}
	for _, r := range h.Records("fired") {
		clock, origin, _ := strings.Cut(string(r.Value), " ")
		if fired[clock+origin]++; fired[clock+origin] > 1 {
			errs = append(errs, fmt.Errorf("timer %s fired %d times", r.Value, fired[clock+origin]))
		}
		if !accepted[origin] {
			errs = append(errs, fmt.Errorf("timer %s fired, and its record was rejected", r.Value))
		}
		if clock == "1" && r.Timestamp.UnixMilli() < times[origin]+ledger.WallDelayMs {
			errs = append(errs, fmt.Errorf("timer %s fired %d ms after its record", r.Value, r.Timestamp.UnixMilli()-times[origin]))
		}
	}
	for origin := range accepted {
		mark := watermarks[ledger.ParseOrigin(origin).Partition]
		if fired["1"+origin] == 0 {
			errs = append(errs, fmt.Errorf("the wall timer of %s did not fire", origin))
		}
		if due := times[origin]+ledger.EventDelayMs <= mark; due != (fired["0"+origin] > 0) {
			errs = append(errs, fmt.Errorf("the event timer of %s is due at watermark %d: %t; it fired %d times", origin, mark, due, fired["0"+origin]))
		}
	}
	return errors.Join(append(errs, compareTimers(log, stores))...)
}

// lastWatermarks returns the last watermark of each partition. It returns an error if one goes
// back.
func lastWatermarks(log []*kgo.Record) (map[int32]int64, error) {
	var errs []error
	last := map[int32]int64{}
	for _, r := range log {
		m, err := changelogpb.DecodeMarker(r.Key, r.Value)
		if err != nil {
			return nil, err
		}
		if m == nil {
			continue
		}
		if m.WatermarkMs < last[r.Partition] {
			errs = append(errs, fmt.Errorf("partition %d: the watermark goes back from %d to %d", r.Partition, last[r.Partition], m.WatermarkMs))
		}
		last[r.Partition] = m.WatermarkMs
	}
	return last, errors.Join(errs...)
}

// compareTimers compares the timers of each store with the changelog up to the store's offset.
func compareTimers(log []*kgo.Record, stores map[int32]ledgerStore) error {
	var errs []error
	logged := map[int32]map[string]bool{}
	for _, r := range log {
		if logged[r.Partition] == nil {
			logged[r.Partition] = map[string]bool{}
		}
		switch {
		case r.Key[0] != stream.TimerTable || r.Offset >= stores[r.Partition].ChangelogNext:
		case r.Value == nil:
			delete(logged[r.Partition], string(r.Key[1:]))
		default:
			logged[r.Partition][string(r.Key[1:])] = true
		}
	}
	for q, want := range logged {
		if !maps.Equal(want, stores[q].timers) {
			errs = append(errs, fmt.Errorf("partition %d: the store has %d timers, its changelog %d at offset %d", q, len(stores[q].timers), len(want), stores[q].ChangelogNext))
		}
	}
	return errors.Join(errs...)
}

// TestLastWatermarksNotices: a watermark that goes back is reported, and one that stays is not.
func TestLastWatermarksNotices(t *testing.T) {
	marker := func(partition int32, watermark int64) *kgo.Record {
		value, err := proto.Marshal(&changelogpb.Marker{WatermarkMs: watermark})
		if err != nil {
			t.Fatal(err)
		}
		return &kgo.Record{Partition: partition, Key: changelogpb.SystemKey(changelogpb.MarkerKey), Value: value}
	}
	log := []*kgo.Record{marker(0, 5), marker(1, 3), marker(0, 5), marker(0, 7)}
	if _, err := lastWatermarks(log); err != nil {
		t.Error(err)
	}
	if _, err := lastWatermarks(append(log, marker(0, 6))); err == nil {
		t.Error("a watermark that goes back is not reported")
	}
}

package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/stream"
)

const copiesTopic = "copies.origin"

// TestCopiesOfTransactions: a consumer with read_committed and the control records knows for each
// offset of a log whether it is a record, a marker, or a record of an aborted transaction. So the
// copies that it makes lose nothing by transactions, and a copy that is dropped is lost.
func TestCopiesOfTransactions(t *testing.T) {
	c := empty(t)
	testlimit.Within(t, "create the topic", func(ctx context.Context) error {
		_, err := c.adm.CreateTopic(ctx, 1, 1, nil, copiesTopic)
		return err
	})
	end := writeTransactions(t, c)
	all := readAll(t, c, end, kgo.ReadUncommitted())
	seen := readAll(t, c, end, kgo.ReadCommitted())
	kinds := kindsOf(t, all)
	if int64(len(all)) != end || len(kinds) != len(all) {
		t.Fatalf("%d records of %d offsets", len(all), end)
	}
	count := map[string]int{}
	for _, kind := range kinds {
		count[kind]++
	}
	if count["record"] != 12 || count["aborted"] != 7 || count["marker"] != 5 {
		t.Fatalf("the log has %v", count)
	}
	at := map[int64]bool{}
	for _, r := range seen {
		at[r.Offset] = true
		if kind := kinds[r.Offset]; kind == "aborted" || (kind == "marker") != r.Attrs.IsControl() {
			t.Errorf("offset %d is read, and is of kind %s", r.Offset, kind)
		}
	}
	for offset, kind := range kinds {
		if !at[offset] && kind != "aborted" {
			t.Errorf("offset %d is not read, and is of kind %s", offset, kind)
		}
	}

	copies := copiesOf(seen)
	if s := countCopies(t, copies); s.Lost != 0 || len(copies) != 12 {
		t.Errorf("%d records are lost of %d copies", s.Lost, len(copies))
	}
	for i := 1; i < len(copies)-1; i++ {
		for j := i + 1; j < len(copies); j++ {
			// From the copy before the missing ones, all offsets up to the last of them are lost.
			last, _ := events.ParseOrigin(copies[j-1].Headers[0].Value)
			before, _ := events.ParseOrigin(copies[i-1].Headers[0].Value)
			s := countCopies(t, slices.Delete(slices.Clone(copies), i, j))
			if want := uint64(last.Offset - before.Offset); s.Lost != want || s.Lost < uint64(j-i) {
				t.Errorf("without copies %d to %d: %d records are lost, want %d", i, j-1, s.Lost, want)
			}
		}
	}
}

// writeTransactions writes records outside of transactions, and in committed and aborted ones, also
// in two that are open at the same time. It waits for the markers, which the broker writes after it
// has answered, and returns the end of the log.
func writeTransactions(t *testing.T, c *cluster) (end int64) {
	t.Helper()
	plain := c.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	one := c.client(kgo.TransactionalID("one of "+copiesTopic), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	other := c.client(kgo.TransactionalID("other of "+copiesTopic), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	n := 0
	write := func(cl *kgo.Client, count int) {
		for range count {
			n++
			e := &eventspb.AdEvent{
				EventId: fmt.Sprint("e", n), Type: eventspb.EventType_EVENT_TYPE_CLICK, Account: "acme", Campaign: "copies",
				PriceMicros: 1, Currency: "USD", EventMs: time.Now().UnixMilli(),
			}
			res := cl.ProduceSync(t.Context(), &kgo.Record{Topic: copiesTopic, Value: events.AppendEvent(nil, e)})
			if err := res.FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	check := func(errs ...error) {
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	write(plain, 2)
	check(one.BeginTransaction())
	write(one, 3)
	check(one.EndTransaction(t.Context(), kgo.TryCommit), one.BeginTransaction())
	write(one, 4)
	check(one.EndTransaction(t.Context(), kgo.TryAbort))
	write(plain, 1)
	check(one.BeginTransaction(), other.BeginTransaction())
	write(one, 1)
	write(other, 2)
	write(plain, 1)
	write(one, 1)
	write(other, 1)
	check(other.EndTransaction(t.Context(), kgo.TryAbort))
	write(one, 1)
	check(one.EndTransaction(t.Context(), kgo.TryCommit), one.BeginTransaction())
	write(one, 1)
	check(one.EndTransaction(t.Context(), kgo.TryCommit))
	write(plain, 1)
	const markers = 5
	testlimit.Within(t, "the markers are written", func(ctx context.Context) error {
		ends, err := c.adm.ListEndOffsets(ctx, copiesTopic)
		if err != nil {
			return err
		}
		last, _ := ends.Lookup(copiesTopic, 0)
		if end = last.Offset; end < int64(n)+markers {
			return fmt.Errorf("the log has %d offsets, for %d records and %d markers", end, n, markers)
		}
		return last.Err
	})
	return end
}

// readAll returns the records of the log up to end, with the control records.
func readAll(t *testing.T, c *cluster, end int64, level kgo.IsolationLevel) (out []*kgo.Record) {
	t.Helper()
	cl := c.client(
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{copiesTopic: {0: kgo.NewOffset().AtStart()}}),
		kgo.FetchIsolationLevel(level), kgo.KeepControlRecords(),
	)
	testlimit.Within(t, "the log is read", func(ctx context.Context) error {
		for len(out) == 0 || out[len(out)-1].Offset+1 < end {
			fetches := cl.PollFetches(ctx)
			if err := fetches.Err(); err != nil {
				return err
			}
			out = append(out, fetches.Records()...)
		}
		return nil
	})
	return out
}

// kindsOf returns the kind of each offset, by the markers: record, aborted, or marker.
func kindsOf(t *testing.T, all []*kgo.Record) map[int64]string {
	t.Helper()
	kinds, open := map[int64]string{}, map[int64][]int64{}
	for _, r := range all {
		if !r.Attrs.IsControl() {
			if kinds[r.Offset] = "record"; r.Attrs.IsTransactional() {
				open[r.ProducerID] = append(open[r.ProducerID], r.Offset)
			}
			continue
		}
		kinds[r.Offset] = "marker"
		key := kmsg.NewControlRecordKey()
		if err := key.ReadFrom(r.Key); err != nil {
			t.Fatal(err)
		}
		for _, offset := range open[r.ProducerID] {
			if key.Type == kmsg.ControlRecordKeyTypeAbort {
				kinds[offset] = "aborted"
			}
		}
		delete(open, r.ProducerID)
	}
	return kinds
}

// copiesOf returns the copies of what a consumer has read.
func copiesOf(seen []*kgo.Record) (out []stream.Record) {
	previous := int64(-1)
	for _, r := range seen {
		if r.Attrs.IsControl() {
			continue
		}
		at := events.AppendOrigin(nil, events.Origin{Offset: r.Offset, Previous: previous})
		out = append(out, stream.Record{Value: r.Value, Offset: int64(len(out)), TimeMs: r.Timestamp.UnixMilli(), Headers: []stream.Header{{Key: events.OriginHeader, Value: at}}})
		previous = r.Offset
	}
	return out
}

// countCopies returns the figures of a counter that folds the copies.
func countCopies(t *testing.T, copies []stream.Record) spendcounter.Stats {
	t.Helper()
	topic := events.CopiedEventsTopic("eu")
	cfg := spendcounter.Config{DC: "us", Inputs: spendcounter.Inputs{Copied: map[string]string{topic: "eu"}}, Shard: func([]byte) int32 { return 0 }}
	counter, err := spendcounter.New(cfg, stream.Task{
		Get:  func(byte, []byte) ([]byte, error) { return nil, nil },
		Scan: func(byte, []byte, func(key, value []byte) error) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	b := &stream.Batch{Topic: topic, Records: copies, NowMs: time.Now().UnixMilli()}
	if err := counter.Fold(b); err != nil || len(b.Rejects) > 0 {
		t.Fatal(err, b.Rejects)
	}
	return counter.Stats()
}

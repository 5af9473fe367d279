package exampletest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/processors"
)

// count returns the number of visits in the output: the last one of a closer stays open.
func (in *visitInput) count() (n int) {
	for _, user := range in.users[:visitUsers] {
		n += len(in.visits[user])
	}
	return n
}

// await waits until n records of a topic are committed.
func (r *visitRun) await(ctx context.Context, topic string, n int) {
	r.t.Helper()
	r.within(ctx, fmt.Sprintf("%d records of %s", n, topic), func(ctx context.Context) error {
		if got := len(r.committed(ctx, topic)); got < n {
			return fmt.Errorf("there are %d", got)
		}
		return nil
	})
}

// committed returns the committed records of a topic.
func (r *visitRun) committed(ctx context.Context, topic string) (list []*kgo.Record) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, testlimit.Limit)
	defer cancel()
	ends, err := kadm.NewClient(r.client).ListCommittedOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		r.t.Fatalf("ends of %s: %v", topic, err)
	}
	left, from := map[int32]int64{}, map[int32]kgo.Offset{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			left[o.Partition], from[o.Partition] = o.Offset, kgo.NewOffset().AtStart()
		}
	})
	if len(left) == 0 {
		return nil
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(r.broker), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), kgo.FetchMaxWait(200*time.Millisecond))
	if err != nil {
		r.t.Fatal(err)
	}
	defer cl.Close()
	for len(left) > 0 {
		cl.PollFetches(ctx).EachRecord(func(rec *kgo.Record) {
			if !rec.Attrs.IsControl() {
				list = append(list, rec)
			}
			if rec.Offset+1 >= left[rec.Partition] {
				delete(left, rec.Partition)
			}
		})
		if ctx.Err() != nil {
			r.t.Fatalf("%s is not read up to %v", topic, left)
		}
	}
	return list
}

// checkVisits compares the output with the visits that the views make: each once, with its views,
// its times, and a country that the user had.
func (r *visitRun) checkVisits(list []*kgo.Record) {
	r.t.Helper()
	type written struct {
		Name    string `json:"name"`
		Country string `json:"country"`
		Views   int    `json:"views"`
		FirstMs int64  `json:"first_ms"`
		LastMs  int64  `json:"last_ms"`
	}
	got, countries := map[string]int{}, map[string]int{}
	for _, rec := range list {
		var w written
		if err := json.Unmarshal(rec.Value, &w); err != nil {
			r.t.Errorf("visit of %s: %s: %v", rec.Key, rec.Value, err)
			continue
		}
		user := string(rec.Key)
		got[fmt.Sprint(user, " ", w.FirstMs)]++
		i := slices.IndexFunc(r.in.visits[user], func(v visit) bool { return v.times[0] == w.FirstMs })
		if i < 0 {
			r.t.Errorf("visit of %s: %s: no visit begins then", rec.Key, rec.Value)
			continue
		}
		v := r.in.visits[user][i]
		if w.Name != "Name of "+user || w.Views != len(v.times) || w.LastMs != v.lastMs() || !slices.Contains(v.country, w.Country) {
			r.t.Errorf("visit of %s: %s, want %d views up to %d and one of %q", rec.Key, rec.Value, len(v.times), v.lastMs(), v.country)
		}
		countries[w.Country]++
	}
	for _, user := range r.in.users[:visitUsers] {
		for _, v := range r.in.visits[user] {
			if n := got[fmt.Sprint(user, " ", v.times[0])]; n != 1 {
				r.t.Errorf("the visit of %s at %d was written %d times", user, v.times[0], n)
			}
		}
	}
	if len(list) != r.in.count() || countries["at"] == 0 || countries["be"] == 0 {
		r.t.Errorf("%d visits, want %d; by country: %v", len(list), r.in.count(), countries)
	}
}

// checkRejected compares the dead letters with the records that have to be rejected.
func (r *visitRun) checkRejected(list []*kgo.Record) {
	r.t.Helper()
	want := map[string]string{}
	for rec, reason := range r.in.reasons {
		want[fmt.Sprintf("%s/%d/%d", rec.Topic, rec.Partition, rec.Offset)] = reason
	}
	for _, rec := range list {
		reason := ""
		for _, h := range rec.Headers {
			if h.Key == processors.HeaderReason {
				reason = string(h.Value)
			}
		}
		if expected, ok := want[string(rec.Key)]; !ok || reason != expected {
			r.t.Errorf("dead letter %s: %s, want %q once", rec.Key, reason, expected)
		}
		delete(want, string(rec.Key))
	}
	for at, reason := range want {
		r.t.Errorf("%s is not in the dead-letter topic with %s", at, reason)
	}
}

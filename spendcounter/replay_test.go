package spendcounter

import (
	"bytes"
	"maps"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// canonicalForms returns the canonical forms of the logged tables of a store, which a replay
// compares.
func canonicalForms(s *store) map[string]string {
	out := map[string]string{}
	for table := stream.FirstTable; table < stream.FirstLocalTable; table++ {
		for k, v := range s.tables[table] {
			if form := Canonical(table, []byte(k), v); form != nil {
				out[string(table)+k] = string(form)
			}
		}
	}
	return out
}

// TestCanonicalFormIsOfTheInputs: two counters that fold the same records in different batches,
// transactions and orders of topics have the same canonical forms, although their records differ.
func TestCanonicalFormIsOfTheInputs(t *testing.T) {
	differed := false
	rapid.Check(t, func(t *rapid.T) {
		logs := drawLogs(t, shape{disjoint: true, steady: true})
		cfg := testConfig()
		one, other := newRun(t, cfg, logs), newRun(t, cfg, logs)
		one.all()
		other.store.sequence = 100
		other.restarts = true
		other.all()
		if a, b := canonicalForms(one.store), canonicalForms(other.store); !maps.Equal(a, b) {
			t.Fatalf("canonical forms differ:\n%q\n%q", a, b)
		}
		for k, v := range one.store.tables[TableSpend] {
			differed = differed || !bytes.Equal(v, other.store.tables[TableSpend][k])
		}
	})
	if !differed {
		t.Error("the records themselves never differed")
	}
}

// TestRewriteIsWhatTheCounterWrites: a rewritten record is byte for byte what the counter would
// write in that commit.
func TestRewriteIsWhatTheCounterWrites(t *testing.T) {
	seen := 0
	rapid.Check(t, func(t *rapid.T) {
		r := newRun(t, testConfig(), drawLogs(t, shape{}))
		r.all()
		cm := stream.Commit{Incarnation: rapid.Uint64().Draw(t, "incarnation"), OwnerEpoch: rapid.Uint64().Draw(t, "epoch"), Sequence: rapid.Uint64().Draw(t, "sequence"), Next: map[string]int64{events.EventsTopic: rapid.Int64Min(0).Draw(t, "offset")}}
		for k, v := range r.store.tables[TableSpend] {
			got, err := Rewrite(events.EventsTopic, TableSpend, v, cm)
			if err != nil {
				t.Fatal(err)
			}
			want := &eventspb.Spend{}
			if err := proto.Unmarshal(v, want); err != nil {
				t.Fatal(err)
			}
			want.Incarnation, want.OwnerEpoch, want.Sequence, want.AsOfOffset = cm.Incarnation, cm.OwnerEpoch, cm.Sequence, cm.Next[events.EventsTopic]
			if again := must(proto.Marshal(want)); !bytes.Equal(got, again) {
				t.Fatalf("%q: %x, want %x", k, got, again)
			}
			if !bytes.Equal(Canonical(TableSpend, []byte(k), got), Canonical(TableSpend, []byte(k), v)) {
				t.Fatalf("%q: the rewrite changes the canonical form", k)
			}
			seen++
		}
	})
	if seen == 0 {
		t.Error("no record was ever written")
	}
}

// TestAccountIsReplaced replaces the spend of one account by the result of another counter. The
// other accounts do not change, the task's sums are those of its campaign days, and the counter
// continues from there.
func TestAccountIsReplaced(t *testing.T) {
	replaced := 0
	rapid.Check(t, func(t *rapid.T) {
		logs := drawLogs(t, shape{disjoint: true, steady: true})
		wrongly := testConfig()
		wrongly.DuplicateWindow = time.Millisecond // ids are forgotten at once, so repeated events are charged again
		wrong, right := newRun(t, wrongly, logs), newRun(t, testConfig(), logs)
		wrong.all()
		right.all()
		was, is := wrong.store.spends(t), right.store.spends(t)
		account := ""
		for k := range was {
			if !proto.Equal(was[k], is[k]) {
				account = was[k].Account
			}
		}
		if account == "" {
			return
		}
		replaced++
		a, err := ProcessorConfig{DC: ownDC}.Promotion(account, wrong.store.task().Get, stream.Commit{NowMs: epochMs})
		if err != nil {
			t.Fatal(err)
		}
		var ch stream.Changes
		for key, after := range right.store.tables[TableSpend] {
			take, err := a.Take(TableSpend, []byte(key), wrong.store.tables[TableSpend][key], after)
			if err != nil {
				t.Fatal(err)
			}
			if take != (is[key].Account == account) {
				t.Fatalf("%q is of account %s: taken %t", key, is[key].Account, take)
			}
			if take {
				ch.Put(TableSpend, []byte(key), after)
			}
		}
		if take, err := a.Take(TableTask, []byte(TaskKey), nil, nil); take || err != nil {
			t.Fatalf("the task record: taken %t, %v", take, err)
		}
		for pair := range right.store.tables[TableCampaigns] {
			_, was := wrong.store.tables[TableCampaigns][pair]
			take, err := a.Take(TableCampaigns, []byte(pair), nil, nil)
			if err != nil || take != strings.HasSuffix(pair, "\x00"+account) || !was {
				t.Fatalf("index row %q: taken %t, there before %t, %v", pair, take, was, err)
			}
		}
		if err := a.Finish(&ch); err != nil {
			t.Fatal(err)
		}
		wrong.store.apply(&ch)
		var micros, refunded, duplicates int64
		for key, s := range wrong.store.spends(t) {
			want := was[key]
			if s.Account == account {
				want = is[key]
			}
			if !proto.Equal(s, want) {
				t.Fatalf("%q: %v, want %v", key, s, want)
			}
			duplicates += int64(s.Duplicates)
			for _, by := range s.ByDc {
				micros, refunded = micros+by.ChargedMicros, refunded+by.RefundedMicros
			}
		}
		state, sum := wrong.store.taskState(t), int64(0)
		for _, o := range state.Origins {
			if o.Micros < 0 {
				t.Fatalf("origin %s has %d micros", o.Dc, o.Micros)
			}
			sum += o.Micros
		}
		if sum != micros || state.RefundedMicros != refunded || int64(state.Duplicates) != duplicates {
			t.Fatalf("task: %d micros, %d refunded, %d duplicates; its campaign days: %d, %d, %d", sum, state.RefundedMicros, state.Duplicates, micros, refunded, duplicates)
		}
		c := mustNew(t, wrongly, wrong.store)
		wrong.store.flush(t, c, wrong.now)
		checkRanking(t, wrong.store, wrongly.ranking)
		wrong.store.localNext = nil // as after every change by an offline operation
		c = mustNew(t, wrongly, wrong.store)
		for key := range wrong.store.tables[TableSpend] { // every record passes the check against its task's sums
			acct, campaign, day, currency, err := ParseKey([]byte(key))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.entry(hashKey(acct, campaign, day, currency), acct, campaign, day, currency); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.loadUnread(); err != nil {
			t.Fatal(err)
		}
	})
	if replaced == 0 {
		t.Error("the counters never differed")
	}
}

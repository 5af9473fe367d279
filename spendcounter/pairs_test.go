package spendcounter

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// TestPairOrder: the form and the hash of a pair are fixed for ever.
func TestPairOrder(t *testing.T) {
	for _, x := range []struct {
		lineItem, arm, key string
		hash               uint64
	}{
		{"", "", "00000000", 0x3aefa6fd5cf2deb4},
		{"l1", "", "00026c310000", 0xaae87f6ba1e46122},
		{"", "l1", "000000026c31", 0xc973347595043364},
		{"line 3", "größer", "00066c696e65203300086772c3b6c39f6572", 0xb37e7718d5dbb429},
	} {
		key := appendPairKey(nil, []byte(x.lineItem), []byte(x.arm))
		if hex.EncodeToString(key) != x.key || pairHash(key) != x.hash {
			t.Errorf("%q, %q: key %x, hash %#x; want %s, %#x", x.lineItem, x.arm, key, pairHash(key), x.key, x.hash)
		}
	}
}

// partsOf returns the parts that a recount expects: the first pairs, and the sum of the others.
func partsOf(parts map[string]tally, most int) map[string]tally {
	keys := slices.SortedFunc(maps.Keys(parts), func(a, b string) int {
		x, y := pairHash([]byte(a)), pairHash([]byte(b))
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return strings.Compare(a, b)
	})
	out := map[string]tally{}
	for i, key := range keys {
		if i >= most {
			sum := out[otherPair]
			sum.add(parts[key])
			out[otherPair] = sum
		} else {
			out[key] = parts[key]
		}
	}
	return out
}

// checkParts compares the parts of all campaign days with the recount.
func checkParts(t fataler, s *store, m *recount) {
	got, want := map[string]tally{}, map[string]tally{}
	for key, value := range s.tables[TableParts] {
		p := &eventspb.SpendPart{}
		if err := proto.Unmarshal(value, p); err != nil {
			t.Fatalf("%v", err)
		}
		spendKey, lineItem, arm, err := ParsePartKey([]byte(key))
		currency, bad := events.ParseCurrency(p.Currency)
		if own := AppendKey(nil, []byte(p.Account), []byte(p.Campaign), events.Day(p.BudgetDay), currency); err != nil || bad != nil ||
			!bytes.Equal(spendKey, own) || string(lineItem) != p.Part.GetLineItem() || string(arm) != p.Part.GetArm() ||
			!bytes.Equal(value, must(proto.Marshal(p))) {
			t.Fatalf("part %q has %v: %v, %v", key, p, err, bad)
		}
		got[key] = tally{p.Part.GetChargedMicros(), p.Part.GetEvents()}
	}
	for key, p := range m.spend {
		for pair, sum := range partsOf(p.parts, m.cfg.Parts) {
			want[key+pair] = sum
		}
	}
	if !maps.Equal(got, want) {
		t.Fatalf("parts are\n%v\nwant\n%v", got, want)
	}
}

// TestPairsOutliveMemory: campaign days that leave memory, and counters that start again, lose no
// charge of a pair and give none twice, whatever the order of the pairs.
func TestPairsOutliveMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{Shard: anyShard, Parts: rapid.IntRange(1, 6).Draw(t, "parts"), CacheEntries: rapid.IntRange(1, 12).Draw(t, "entries")}
		s := newStore()
		c := mustNew(t, cfg, s)
		want, events, over := map[string]map[string]tally{}, 0, uint64(0)
		for range rapid.IntRange(1, 30).Draw(t, "flushes") {
			for range rapid.IntRange(0, 6).Draw(t, "events") {
				events++
				e := eventAt(events, epochMs)
				e.Campaign = fmt.Sprint("c", rapid.IntRange(0, 2).Draw(t, "campaign"))
				e.LineItem, e.PriceMicros = fmt.Sprint(rapid.IntRange(0, 11).Draw(t, "line item")), int64(events)
				b := &stream.Batch{Topic: "ads.events", Partition: 3, Records: []stream.Record{{Offset: int64(events), TimeMs: epochMs, Value: must(proto.Marshal(e))}}}
				if err := c.Fold(b); err != nil || len(b.Rejects) > 0 {
					t.Fatal(err, b.Rejects)
				}
				s.next["ads.events"] = int64(events) + 1
				if want[e.Campaign] == nil {
					want[e.Campaign] = map[string]tally{}
				}
				pair := string(appendPairKey(nil, []byte(e.LineItem), nil))
				sum := want[e.Campaign][pair]
				sum.add(tally{e.PriceMicros, 1})
				want[e.Campaign][pair] = sum
			}
			s.flush(t, c, epochMs)
			if n := c.Stats().Entries + c.cache.pairs.count; n > max(cfg.CacheEntries, 1) {
				t.Fatalf("%d campaign days and pairs stay in memory, want at most %d", n, cfg.CacheEntries)
			}
			if rapid.IntRange(0, 4).Draw(t, "restart") == 0 {
				over += c.Stats().PartsOver
				c = mustNew(t, cfg, s)
			}
		}
		over += c.Stats().PartsOver
		got, all := map[string]tally{}, map[string]tally{}
		for key, value := range s.tables[TableParts] {
			p := &eventspb.SpendPart{}
			if err := proto.Unmarshal(value, p); err != nil {
				t.Fatal(err)
			}
			got[p.Campaign+key[len(key)-len(pairOf(p)):]] = tally{p.Part.ChargedMicros, p.Part.Events}
			if pairOf(p) == otherPair {
				over -= p.Part.Events
			}
		}
		for campaign, parts := range want {
			for pair, sum := range partsOf(parts, cfg.Parts) {
				all[campaign+pair] = sum
			}
		}
		if !maps.Equal(got, all) {
			t.Fatalf("parts are\n%v\nwant\n%v", got, all)
		}
		if over != 0 {
			t.Fatalf("%d more events were counted as over than the rows have", int64(over))
		}
	})
}

func pairOf(p *eventspb.SpendPart) string {
	return string(appendPairKey(nil, []byte(p.Part.GetLineItem()), []byte(p.Part.GetArm())))
}

// TestPartsOfOtherKinds: events with neither line item nor arm, with a bad one, duplicates, records
// of a Rebuild and events of a closed day have no part; the rows of a closed day are deleted.
func TestPartsOfOtherKinds(t *testing.T) {
	r := newRetained(t)
	r.cfg.Parts = 5
	r.c = mustNew(t, r.cfg, r.s)
	at, n := time.Date(2023, 11, 14, 9, 30, 0, 0, time.UTC), int64(1000)
	var recs []stream.Record
	fold := func(id, lineItem, arm string) {
		n++
		e := eventAt(0, at.UnixMilli())
		e.EventId, e.Account, e.LineItem, e.Arm, e.PriceMicros, e.BudgetDay = id, "a", lineItem, arm, 10, 20231114
		recs = append(recs, stream.Record{Offset: n, TimeMs: at.UnixMilli(), Value: marshal(t, e)})
		b := &stream.Batch{Topic: "ads.events", Partition: 3, Records: recs[len(recs)-1:]}
		if err := r.c.Fold(b); err != nil || len(b.Rejects) > 0 {
			t.Fatal(err, b.Rejects)
		}
		r.s.next["ads.events"] = n + 1
	}
	want := func(what string, parts map[string]int64) {
		t.Helper()
		r.flush()
		got := map[string]int64{}
		for _, value := range r.s.tables[TableParts] {
			p := &eventspb.SpendPart{}
			if err := proto.Unmarshal(value, p); err != nil {
				t.Fatal(err)
			}
			got[p.Part.LineItem+"/"+p.Part.Arm] = p.Part.ChargedMicros
		}
		if !maps.Equal(got, parts) {
			t.Errorf("%s: parts %v, want %v", what, got, parts)
		}
	}
	fold("1", "", "")
	fold("2", "bad\x00", "x")
	fold("3", "l", strings.Repeat("x", MaxIDBytes+1))
	want("no part", map[string]int64{})
	fold("4", "l", "x")
	fold("4", "l", "x")
	fold("5", "l", "")
	fold("6", "", strings.Repeat("x", MaxIDBytes))
	three := map[string]int64{"l/x": 10, "l/": 10, "/" + strings.Repeat("x", MaxIDBytes): 10}
	want("parts", three)
	r.s.localNext = nil
	r.c = mustNew(t, r.cfg, r.s)
	if err := r.c.Rebuild(&stream.Batch{Topic: "ads.events", Partition: 3, Records: recs}); err != nil {
		t.Fatal(err)
	}
	want("after a rebuild", three)
	fold("4", "l", "x")
	want("a duplicate after a rebuild", three)
	r.cfg.Parts = 0 // the rows outlive the setting, and are deleted with their day
	r.c = mustNew(t, r.cfg, r.s)
	if err := r.c.Rebuild(&stream.Batch{Topic: "ads.events", Partition: 3, Records: recs}); err != nil {
		t.Fatal(err)
	}
	fold("7", "l", "x")
	want("without the setting", three)
	r.cfg.Parts = 2
	r.c = mustNew(t, r.cfg, r.s)
	r.event("later", 20231119, at.AddDate(0, 0, 5))
	for range 4 {
		r.flush()
	}
	want("after the day was closed", map[string]int64{})
	fold("8", "l", "x")
	want("an event of a closed day", map[string]int64{})
}

// FuzzParsePartKey: a key that is accepted is what its parts make.
func FuzzParsePartKey(f *testing.F) {
	spendKey := AppendKey(nil, []byte("a"), []byte("c"), 20231114, 'U'<<16|'S'<<8|'D')
	f.Add(appendPairKey(spendKey, []byte("l1"), []byte("größer")))
	f.Add(appendPairKey(AppendKey(nil, []byte("a"), []byte("c"), 0, 0), nil, nil))
	f.Add([]byte("a\x00c\x00"))
	f.Fuzz(func(t *testing.T, key []byte) {
		spendKey, lineItem, arm, err := ParsePartKey(key)
		if err != nil {
			return
		}
		if _, _, _, _, err := ParseKey(spendKey); err != nil || string(appendPairKey(bytes.Clone(spendKey), lineItem, arm)) != string(key) {
			t.Fatalf("%q is %q, %q and %q: %v", key, spendKey, lineItem, arm, err)
		}
	})
}

// TestPartsChanged: with another Config.Parts no charge of a pair is lost or counted twice, and a
// campaign day that has an event since then has as many rows as the new setting allows.
func TestPartsChanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{Shard: anyShard, Parts: rapid.IntRange(1, 6).Draw(t, "parts"), CacheEntries: rapid.IntRange(1, 12).Draw(t, "entries")}
		s := newStore()
		c := mustNew(t, cfg, s)
		most, n := map[string]int{}, 0 // most rows by campaign
		want := map[string]tally{}
		for range rapid.IntRange(1, 30).Draw(t, "flushes") {
			for range rapid.IntRange(0, 6).Draw(t, "events") {
				n++
				e := eventAt(n, epochMs)
				e.Campaign, e.LineItem = fmt.Sprint("c", rapid.IntRange(0, 2).Draw(t, "campaign")), fmt.Sprint(rapid.IntRange(0, 11).Draw(t, "line item"))
				b := &stream.Batch{Topic: "ads.events", Partition: 3, Records: []stream.Record{{Offset: int64(n), TimeMs: epochMs, Value: must(proto.Marshal(e))}}}
				if err := c.Fold(b); err != nil || len(b.Rejects) > 0 {
					t.Fatal(err, b.Rejects)
				}
				s.next["ads.events"] = int64(n) + 1
				sum := want[e.Campaign]
				sum.add(tally{e.PriceMicros, 1})
				want[e.Campaign], most[e.Campaign] = sum, cfg.Parts
			}
			s.flush(t, c, epochMs)
			if rapid.IntRange(0, 3).Draw(t, "restart") == 0 {
				cfg.Parts = rapid.IntRange(1, 6).Draw(t, "parts")
				c = mustNew(t, cfg, s)
			}
		}
		got, rows := map[string]tally{}, map[string]int{}
		for _, value := range s.tables[TableParts] {
			p := &eventspb.SpendPart{}
			if err := proto.Unmarshal(value, p); err != nil {
				t.Fatal(err)
			}
			sum := got[p.Campaign]
			sum.add(tally{p.Part.ChargedMicros, p.Part.Events})
			got[p.Campaign] = sum
			if pairOf(p) != otherPair {
				rows[p.Campaign]++
			}
		}
		if !maps.Equal(got, want) {
			t.Fatalf("the parts have %v, want %v", got, want)
		}
		for campaign, n := range rows {
			if n > most[campaign] {
				t.Fatalf("campaign %s has %d parts, want at most %d", campaign, n, most[campaign])
			}
		}
	})
}

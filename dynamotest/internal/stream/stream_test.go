package stream

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/dynamotest/internal/item"
)

// TestReadersSeeEachRecordOnce: whatever the settings, a reader that reads parents before children
// sees each record once, and the records of a key in order.
func TestReadersSeeEachRecordOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		settings := Settings{
			Shards: rapid.IntRange(1, 4).Draw(t, "shards"), MaxShards: rapid.IntRange(0, 8).Draw(t, "max"),
			Rollover:        time.Duration(rapid.IntRange(0, 5).Draw(t, "rollover")) * time.Second,
			RolloverRecords: rapid.IntRange(0, 4).Draw(t, "records"),
		}
		now := int64(time.Hour)
		st := New(settings, now)
		var added []string
		for range rapid.IntRange(0, 60).Draw(t, "n") {
			now += int64(rapid.IntRange(0, 2000).Draw(t, "pause")) * int64(time.Millisecond)
			key := rapid.Uint64().Draw(t, "key")
			st.Add(now, key, Record{Keys: named(fmt.Sprint(key)), New: named(fmt.Sprint(len(added)))})
			added = append(added, fmt.Sprint(key))
		}
		st.End(now)
		var seen []string
		byKey := map[string]int{}
		for _, sh := range lineage(t, st, now) {
			place, last := sh.Horizon(now), sh.First
			for {
				records, end, err := sh.Read(place, rapid.IntRange(1, 3).Draw(t, "limit"), now)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range records {
					if r.Seq <= last || r.Seq >= sh.Last {
						t.Fatalf("record %d after %d in shard %d-%d", r.Seq, last, sh.First, sh.Last)
					}
					last = r.Seq
					place = r.Seq
					key, n := name(r.Keys), name(r.New)
					seen = append(seen, key)
					var nth int
					fmt.Sscan(n, &nth)
					if before, ok := byKey[key]; ok && before >= nth {
						t.Fatalf("key %s: write %d after %d", key, nth, before)
					}
					byKey[key] = nth
				}
				if end {
					break
				}
			}
		}
		slices.Sort(seen)
		slices.Sort(added)
		if !slices.Equal(seen, added) {
			t.Fatalf("added %d records, saw %d", len(added), len(seen))
		}
	})
}

// lineage returns the shards, each after its parent. It fails the test if a parent does not exist.
func lineage(t *rapid.T, st *Stream, now int64) []*Shard {
	all := slices.Clone(st.Shards(now))
	var out []*Shard
	done := map[string]bool{"": true}
	for len(out) < len(all) {
		n := len(out)
		for _, sh := range all {
			if !done[sh.ID] && done[sh.Parent] {
				done[sh.ID] = true
				out = append(out, sh)
			}
		}
		if len(out) == n {
			t.Fatal("the parents of the shards form a cycle, or a parent does not exist")
		}
	}
	return out
}

func TestRollover(t *testing.T) {
	now := int64(time.Hour)
	st := New(Settings{Shards: 2, MaxShards: 3, Rollover: 10 * time.Second}, now)
	if n := len(st.Shards(now)); n != 2 {
		t.Fatal(n)
	}
	now += int64(5 * time.Second) // the first shard closes after half the period, and splits
	shards := st.Shards(now)
	if len(shards) != 4 || shards[0].Last == 0 || shards[1].Last != 0 || shards[2].Parent != shards[0].ID || shards[3].Parent != shards[0].ID {
		t.Fatalf("%+v", shards)
	}
	now += int64(5 * time.Second) // the second has one child: three shards are open
	shards = st.Shards(now)
	if len(shards) != 5 || shards[4].Parent != shards[1].ID || len(st.open) != 3 {
		t.Fatalf("%+v", shards)
	}
}

// TestTrim: a record can be read for the retention of the stream, also after a restore.
func TestTrim(t *testing.T) {
	for _, retention := range []time.Duration{0, 6 * time.Hour} {
		for _, restored := range []bool{false, true} {
			t.Run(fmt.Sprint(retention, restored), func(t *testing.T) { trim(t, retention, restored) })
		}
	}
}

func trim(t *testing.T, retention time.Duration, restored bool) {
	now := int64(time.Hour)
	st := New(Settings{RolloverRecords: 3, Retention: retention}, now)
	keeps := int64(cmp.Or(retention, 24*time.Hour))
	var seqs []uint64
	for range 4 { // the fourth record is in the child
		seqs = append(seqs, st.Add(now, 0, Record{}).Seq)
		now += int64(time.Hour)
	}
	if restored {
		after := Restore(st.State(now), now)
		for _, sh := range st.Shards(now) {
			for _, r := range sh.Records() {
				if err := after.Put(sh.ID, r); err != nil {
					t.Fatal(err)
				}
			}
		}
		st = after
	}
	parent, child := st.Shards(now)[0], st.Shards(now)[1]
	horizon := parent.Horizon(now)
	now = int64(time.Hour) + keeps + int64(90*time.Minute) // two records are older than the retention
	if _, _, err := parent.Read(horizon, 9, now); !errors.Is(err, ErrTrimmed) {
		t.Fatal(err)
	}
	if _, err := parent.Position(seqs[1], false, now); !errors.Is(err, ErrTrimmed) {
		t.Fatal(err)
	}
	if place, err := parent.Position(seqs[2], true, now); err != nil || place != seqs[2]-1 {
		t.Fatal(place, err)
	}
	if records, end, err := parent.Read(parent.Horizon(now), 9, now); err != nil || len(records) != 1 || !end {
		t.Fatal(records, end, err)
	}
	if _, err := child.Position(parent.First, true, now); !errors.Is(err, ErrSequence) {
		t.Fatal(err)
	}
	if _, err := child.Position(child.End()+1, true, now); !errors.Is(err, ErrSequence) {
		t.Fatal(err)
	}
	now += keeps
	if shards := st.Shards(now); len(shards) != 1 || shards[0] != child {
		t.Fatalf("%+v", shards)
	}
	if records, end, err := child.Read(child.Horizon(now), 9, now); err != nil || len(records) != 0 || end {
		t.Fatal(records, end, err)
	}
	st.End(now)
	if st.Expired(now) || !st.Expired(now+keeps+1) {
		t.Fatal("the stream must expire after its end and the retention, and not before")
	}
}

// TestVisible: a record that is not visible yet hides the later ones, so that no reader skips it.
func TestVisible(t *testing.T) {
	st := New(Settings{RolloverRecords: 2}, 0)
	st.Add(1, 0, Record{Visible: 100})
	st.Add(2, 0, Record{Visible: 50})
	st.Add(3, 0, Record{Visible: 60})
	parent, child := st.Shards(3)[0], st.Shards(3)[1]
	for now, want := range map[int64]int{99: 0, 100: 2} {
		if records, end, err := parent.Read(0, 9, now); err != nil || len(records) != want || end != (want == 2) {
			t.Fatal(now, records, end, err)
		}
	}
	if records, _, _ := child.Read(child.Horizon(99), 9, 99); len(records) != 0 {
		t.Fatal("the child shows a record that is later than one that its parent hides")
	}
}

func named(s string) item.Item { return item.Of(item.Attr{Name: "n", Value: item.Str(s)}) }
func name(it item.Item) string { return it.Get("n").Text() }

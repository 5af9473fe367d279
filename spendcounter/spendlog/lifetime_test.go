package spendlog

import (
	"maps"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// The days of the campaigns in these tests.
const (
	firstDay events.Day = 20131109
	lastDay  events.Day = 20131114
)

// campaignDay is what a writer has counted, before it is moved to a row.
type campaignDay struct {
	campaign string
	day      events.Day
	dc       string
}

// drawTrue draws what all writers will have counted when they have read everything.
func drawTrue(t *rapid.T) map[campaignDay]int64 {
	return rapid.MapOfN(rapid.Custom(func(t *rapid.T) campaignDay {
		return campaignDay{
			rapid.SampledFrom([]string{"a", "b"}).Draw(t, "campaign"), firstDay + events.Day(rapid.IntRange(0, int(lastDay-firstDay)).Draw(t, "day")),
			rapid.SampledFrom([]string{"ap", "eu", "us"}).Draw(t, "dc"),
		}
	}), rapid.Int64Range(1, 100), 1, 12).Draw(t, "counted")
}

// tableOf returns the table of a writer that has counted charged, and moved its rows of the days up
// to closed to lifetime rows. Each count has one event and one refund.
func tableOf(t *rapid.T, charged map[campaignDay]int64, closed events.Day, corrections uint32) *Table {
	rows := map[string]*eventspb.Spend{}
	for at, micros := range charged {
		day := at.day
		if day <= closed {
			day = 0
		}
		key := string(dayKey("acme", at.campaign, day))
		if rows[key] == nil {
			rows[key] = &eventspb.Spend{
				Account: "acme", Campaign: at.campaign, BudgetDay: int32(day), Currency: "USD", Incarnation: 1, OwnerEpoch: 1, Sequence: 1, Corrections: corrections,
			}
		}
		addSpend(rows[key], &eventspb.Spend{Duplicates: 2, AsOfMs: micros, ByDc: []*eventspb.SpendByDC{{
			ServingDc: at.dc, ChargedMicros: micros, RefundedMicros: 1, Events: []*eventspb.TypeCount{{Type: eventspb.EventType_EVENT_TYPE_CLICK, Count: 1}},
		}}})
	}
	out := &Table{}
	for key, s := range rows {
		value, err := proto.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := out.Apply(0, []byte(key), value); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func drawDay(t *rapid.T, from events.Day, label string) events.Day {
	return from + events.Day(rapid.IntRange(0, int(lastDay+1-from)).Draw(t, label))
}

func equal(a, b map[Key]*eventspb.Spend) bool {
	return maps.EqualFunc(a, b, func(a, b *eventspb.Spend) bool { return proto.Equal(a, b) })
}

// TestMergeLifetimesIsTrue: writers that have counted the same have the same sums, whichever days
// each of them has closed. Writers that are behind, and writers without the correction of the
// others, change nothing.
func TestMergeLifetimesIsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		charged := drawTrue(t)
		through := drawDay(t, firstDay, "through")
		upToDate := tableOf(t, charged, firstDay-1, 1) // has closed nothing
		want := MergeLifetimes(through, upToDate)
		var micros, sum int64
		for at, n := range charged {
			if at.day <= through {
				micros += n
			}
		}
		for _, s := range want {
			for _, by := range s.ByDc {
				sum += by.ChargedMicros
			}
		}
		if sum != micros {
			t.Fatalf("the sums are %d, want %d", sum, micros)
		}
		writers := []*Table{upToDate}
		for range rapid.IntRange(1, 3).Draw(t, "writers") {
			has, corrections := charged, uint32(1)
			switch rapid.IntRange(0, 2).Draw(t, "writer") {
			case 0: // behind
				has = maps.Clone(charged)
				for at := range charged {
					if has[at] = rapid.Int64Range(1, charged[at]).Draw(t, "behind"); rapid.Bool().Draw(t, "lacks") {
						delete(has, at)
					}
				}
			case 1: // has counted too much, and was not corrected
				has, corrections = maps.Clone(charged), 0
				for at := range charged {
					has[at] += 1000
				}
			}
			closed := firstDay - 1 + events.Day(rapid.IntRange(0, int(through-firstDay)+1).Draw(t, "closed"))
			writers = append(writers, tableOf(t, has, closed, corrections))
		}
		if got := MergeLifetimes(through, writers...); !equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

// TestMergeLifetimesLaws: the order of the writers, repetitions and groups do not matter, whatever
// the writers have counted.
func TestMergeLifetimesLaws(t *testing.T) {
	if got := MergeLifetimes(lastDay); len(got) != 0 {
		t.Errorf("no writer has %v", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		through := drawDay(t, firstDay, "through")
		var writers []*Table
		for range rapid.IntRange(1, 4).Draw(t, "writers") {
			writers = append(writers, tableOf(t, drawTrue(t), drawDay(t, firstDay-1, "closed"), rapid.Uint32Max(2).Draw(t, "corrections")))
		}
		all := MergeLifetimes(through, writers...)
		shuffled := rapid.Permutation(slices.Concat(writers, writers)).Draw(t, "order")
		if !equal(all, MergeLifetimes(through, shuffled...)) {
			t.Fatal("it depends on the order or on repetitions")
		}
		cut := rapid.IntRange(0, len(writers)).Draw(t, "cut")
		grouped := MergeLifetimes(through, writers[:cut]...)
		for key, s := range MergeLifetimes(through, writers[cut:]...) {
			if was := grouped[key]; was != nil {
				s = events.MergeSpend(was, s)
			}
			grouped[key] = s
		}
		if !equal(all, grouped) {
			t.Fatal("it depends on how the writers are grouped")
		}
	})
}

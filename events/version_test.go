package events

import (
	"cmp"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/events/eventspb"
)

// TestNilIsOldest: a record that does not exist is older than all others.
func TestNilIsOldest(t *testing.T) {
	var none *eventspb.Spend
	if CompareVersions(none, &eventspb.Spend{Sequence: 1}) >= 0 || CompareVersions(&eventspb.Spend{Sequence: 1}, none) <= 0 || CompareVersions(none, none) != 0 {
		t.Error("nil is not the oldest")
	}
}

// writer is the version of the last record that a writer wrote.
type writer struct {
	incarnation, epoch, sequence uint64
}

// drawHistory draws the records that a writer writes under one key, in the order of time: it
// commits, is replaced by another owner, and begins again after its state was deleted.
func drawHistory(t *rapid.T) []*eventspb.Spend {
	w := writer{incarnation: uint64(rapid.IntRange(0, 2).Draw(t, "first")), epoch: 1}
	var out []*eventspb.Spend
	for range rapid.IntRange(2, 12).Draw(t, "records") {
		switch rapid.SampledFrom([]string{"commit", "commit", "owner", "reset"}).Draw(t, "step") {
		case "owner":
			w.epoch++
			if rapid.Bool().Draw(t, "aborted") && w.sequence > 0 {
				w.sequence -= min(w.sequence, 2) // a zombie wrote what its successor writes again
			}
		case "reset":
			w = writer{incarnation: w.incarnation + 1, epoch: 1}
		}
		w.sequence++
		out = append(out, &eventspb.Spend{Incarnation: w.incarnation, OwnerEpoch: w.epoch, Sequence: w.sequence})
	}
	return out
}

// checkOrder reports whether compare orders each history by time.
func checkOrder(t *rapid.T, compare func(a, b Versioned) int) bool {
	list := drawHistory(t)
	for i, a := range list {
		for j, b := range list {
			if compare(a, b) != cmp.Compare(i, j) {
				return false
			}
		}
	}
	return true
}

// TestVersionsAreInTheOrderOfTime: of any two records of a writer, the later one is newer. Total,
// antisymmetric and transitive follow, because the order of time is.
func TestVersionsAreInTheOrderOfTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if !checkOrder(t, CompareVersions) {
			t.Fatal("the order is not that of time")
		}
	})
}

// TestVersionMutants: an order that leaves out or exchanges a number is noticed.
func TestVersionMutants(t *testing.T) {
	by := func(get ...func(Versioned) uint64) func(a, b Versioned) int {
		return func(a, b Versioned) int {
			for _, g := range get {
				if c := cmp.Compare(g(a), g(b)); c != 0 {
					return c
				}
			}
			return 0
		}
	}
	incarnation, epoch, sequence := Versioned.GetIncarnation, Versioned.GetOwnerEpoch, Versioned.GetSequence
	for name, mutant := range map[string]func(a, b Versioned) int{
		"no incarnation":    by(epoch, sequence),
		"no epoch":          by(incarnation, sequence),
		"no sequence":       by(incarnation, epoch),
		"epoch first":       by(epoch, incarnation, sequence),
		"sequence first":    by(sequence, incarnation, epoch),
		"sequence in front": by(incarnation, sequence, epoch),
		"the other way":     func(a, b Versioned) int { return CompareVersions(b, a) },
	} {
		noticed := false
		rapid.Check(t, func(t *rapid.T) { noticed = noticed || !checkOrder(t, mutant) })
		if !noticed {
			t.Errorf("%s: not noticed", name)
		}
	}
}

func drawSpend(t *rapid.T) *eventspb.Spend {
	s := &eventspb.Spend{
		Account: "a", Campaign: "c", BudgetDay: 20261123, Currency: "USD",
		Incarnation: rapid.Uint64Max(9).Draw(t, "incarnation"), OwnerEpoch: 3, Sequence: rapid.Uint64Max(9).Draw(t, "sequence"),
		Corrections: rapid.Uint32Max(2).Draw(t, "corrections"), Schema: rapid.Uint32Max(1).Draw(t, "schema"), Duplicates: rapid.Uint64Max(9).Draw(t, "duplicates"), AsOfMs: rapid.Int64Range(0, 9).Draw(t, "as of"),
	}
	for _, dc := range []string{"ap", "eu", "us"} {
		if rapid.Bool().Draw(t, dc) {
			by := &eventspb.SpendByDC{ServingDc: dc, ChargedMicros: rapid.Int64Range(0, 9).Draw(t, "charged"), RefundedMicros: rapid.Int64Range(0, 9).Draw(t, "refunded")}
			for typ := eventspb.EventType_EVENT_TYPE_IMPRESSION; typ <= eventspb.EventType_EVENT_TYPE_FOLLOW; typ++ {
				if rapid.Bool().Draw(t, typ.String()) {
					by.Events = append(by.Events, &eventspb.TypeCount{Type: typ, Count: rapid.Uint64Range(1, 9).Draw(t, "count")})
				}
			}
			s.ByDc = append(s.ByDc, by)
		}
	}
	return s
}

func chargedOf(s *eventspb.Spend) (sum int64) {
	for _, by := range s.GetByDc() {
		sum += by.GetChargedMicros()
	}
	return sum
}

type mergeFunc func(...*eventspb.Spend) *eventspb.Spend

// mergeFault returns the law that merge breaks for drawn records, empty if it breaks none.
func mergeFault(t *rapid.T, merge mergeFunc) string {
	list := rapid.SliceOfN(rapid.Custom(drawSpend), 1, 4).Draw(t, "records")
	all := merge(list...)
	shuffled := rapid.Permutation(slices.Concat(list, list)).Draw(t, "order")
	cut := rapid.IntRange(1, len(shuffled)).Draw(t, "cut")
	greatest := slices.MaxFunc(list, func(a, b *eventspb.Spend) int { return cmp.Compare(a.Corrections, b.Corrections) }).Corrections
	only := slices.DeleteFunc(slices.Clone(list), func(s *eventspb.Spend) bool { return s.Corrections < greatest })
	switch {
	case !proto.Equal(all, merge(shuffled...)):
		return "it depends on the order or on repetitions"
	case !proto.Equal(all, merge(append([]*eventspb.Spend{merge(shuffled[:cut]...)}, list...)...)):
		return "it depends on how the records are grouped"
	case !proto.Equal(all, merge(only...)):
		return "a record that was not corrected counts beside a correction"
	case len(only) == 1 && chargedOf(all) != chargedOf(only[0]):
		return "it is not the sum of the only corrected record"
	case slices.ContainsFunc(only, func(s *eventspb.Spend) bool { return chargedOf(s) > chargedOf(all) }):
		return "it is less than one of its parts"
	case all.Incarnation != 0 || all.OwnerEpoch != 0 || all.Sequence != 0:
		return "it has a version"
	}
	return ""
}

func TestMergeLaws(t *testing.T) {
	if MergeSpend() != nil {
		t.Error("a merge of nothing is something")
	}
	rapid.Check(t, func(t *rapid.T) {
		if fault := mergeFault(t, MergeSpend); fault != "" {
			t.Fatal(fault)
		}
	})
}

// TestMergeMutants: the laws notice wrong merges.
func TestMergeMutants(t *testing.T) {
	clean := func(s *eventspb.Spend) *eventspb.Spend {
		s = proto.CloneOf(s)
		s.Incarnation, s.OwnerEpoch, s.Sequence = 0, 0, 0
		return s
	}
	for name, mutant := range map[string]mergeFunc{
		"corrections do not count": func(list ...*eventspb.Spend) *eventspb.Spend {
			flat := make([]*eventspb.Spend, len(list))
			for i, s := range list {
				flat[i] = proto.CloneOf(s)
				flat[i].Corrections = 0
			}
			return MergeSpend(flat...)
		},
		"the last record": func(list ...*eventspb.Spend) *eventspb.Spend { return clean(list[len(list)-1]) },
		"the record with the greatest sum": func(list ...*eventspb.Spend) *eventspb.Spend {
			return clean(slices.MaxFunc(list, func(a, b *eventspb.Spend) int { return cmp.Compare(chargedOf(a), chargedOf(b)) }))
		},
		"the sum of all": func(list ...*eventspb.Spend) *eventspb.Spend {
			out := MergeSpend(list...)
			for _, s := range list {
				for _, by := range s.ByDc {
					for _, to := range out.ByDc {
						if to.ServingDc == by.ServingDc && s.Corrections == out.Corrections {
							to.ChargedMicros += by.ChargedMicros
						}
					}
				}
			}
			return out
		},
	} {
		noticed := false
		rapid.Check(t, func(t *rapid.T) { noticed = noticed || mergeFault(t, mutant) != "" })
		if !noticed {
			t.Errorf("%s: not noticed", name)
		}
	}
}

package budget

import "slices"

// HistoryMs is how long a version is kept at most that is not in force any more, by the time of
// records. One that was replaced by a version without EffectiveMs is not kept.
const HistoryMs = 48 * 60 * 60 * 1000

// Versions are the versions of an account that are in force, or will be, from HorizonMs on. The
// zero value has none. It is a value: Add does not change it.
type Versions struct {
	List []*Document // in the order of Compare; each one holds later than those before it
	// HorizonMs is HistoryMs before the time of the newest record, or less.
	HorizonMs int64
}

// Add returns the versions with d, a document that was read in a record of a time, Unix ms. The
// result depends on what was added, and not on the order, nor on repetitions: PACE-13.
//
// A version is removed if a greater one holds since HorizonMs, or holds earlier than it.
func (v Versions) Add(d *Document, recordMs int64) Versions {
	out := Versions{HorizonMs: max(v.HorizonMs, recordMs-HistoryMs)}
	all := slices.Clone(v.List)
	at, found := slices.BinarySearchFunc(all, d, Compare)
	if !found {
		all = slices.Insert(all, at, d)
	}
	for i, a := range all {
		replaced := slices.ContainsFunc(all[i+1:], func(b *Document) bool {
			return b.EffectiveMs <= max(out.HorizonMs, a.EffectiveMs)
		})
		if !replaced {
			out.List = append(out.List, a)
		}
	}
	return out
}

// Latest returns the greatest version, and nil before the first. It may hold from a later time on.
func (v Versions) Latest() *Document {
	if len(v.List) == 0 {
		return nil
	}
	return v.List[len(v.List)-1]
}

// At returns the version that is in force at a time, Unix ms, and nil before the first. The time
// must not be before HorizonMs.
func (v Versions) At(ms int64) *Document {
	for _, d := range slices.Backward(v.List) {
		if d.EffectiveMs <= ms {
			return d
		}
	}
	return nil
}

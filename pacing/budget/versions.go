package budget

import (
	"fmt"
	"slices"
)

// Bounds of the versions of an account that still count. Records beyond them are folded all the
// same, so that every datacentre has the same versions: who writes documents refuses them.
const (
	MaxScheduled = 100 // that hold from a later time on
	MaxVersions  = 400 // of all: more than one for each day of a year
)

// Versions are the versions of an account that were in force at some time, are, or will be. The
// zero value has none. It is a value: Add does not change it.
//
// It has no clock, and trusts none: versions are kept until a greater one holds from their begin or
// earlier on, as a document without EffectiveMs does. If times of records ended versions, the clock
// of one datacentre that is ahead could end the version in force for that of next month.
type Versions struct {
	List []*Document // in the order of Compare; each one holds later than those before it
}

// Add returns the versions with d. The result depends on what was added, and not on the order, nor
// on repetitions: PACE-13.
//
// A version is removed if a greater one holds from the same time on, or earlier.
func (v Versions) Add(d *Document) (out Versions) {
	all := slices.Clone(v.List)
	at, found := slices.BinarySearchFunc(all, d, Compare)
	if !found {
		all = slices.Insert(all, at, d)
	}
	for _, a := range slices.Backward(all) {
		if n := len(out.List); n == 0 || a.EffectiveMs < out.List[n-1].EffectiveMs {
			out.List = append(out.List, a)
		}
	}
	slices.Reverse(out.List)
	return out
}

// Full returns why d, a document that is to be written at a time, Unix ms, may not be added to the
// versions; "": it may. One that replaces another may always be added.
func (v Versions) Full(d *Document, nowMs int64) string {
	list, scheduled := v.Add(d).List, 0
	if len(list) <= len(v.List) {
		return ""
	}
	for _, a := range list {
		if a.EffectiveMs > nowMs {
			scheduled++
		}
	}
	switch {
	case scheduled > MaxScheduled && d.EffectiveMs > nowMs:
		return fmt.Sprintf("it would have %d versions that hold later, and the maximum is %d: wait until some of them hold, "+
			"or send a document with an earlier effective_from, which replaces the later ones", scheduled, MaxScheduled)
	case len(list) > MaxVersions:
		return fmt.Sprintf("it would have %d versions with effective_from, and the maximum is %d: "+
			"send a document without effective_from, which replaces all of them", len(list), MaxVersions)
	}
	return ""
}

// From returns the versions that can be in force at a time, Unix ms, or later.
func (v Versions) From(ms int64) Versions {
	for i := len(v.List) - 1; i > 0; i-- {
		if v.List[i].EffectiveMs <= ms {
			return Versions{List: slices.Clone(v.List[i:])} // the others can be freed
		}
	}
	return v
}

// Latest returns the greatest version, and nil before the first. It may hold from a later time on.
func (v Versions) Latest() *Document {
	if len(v.List) == 0 {
		return nil
	}
	return v.List[len(v.List)-1]
}

// At returns the version that is in force at a time, Unix ms, and nil before the first.
func (v Versions) At(ms int64) *Document {
	for _, d := range slices.Backward(v.List) {
		if d.EffectiveMs <= ms {
			return d
		}
	}
	return nil
}

package group

import "time"

// A store is warm if what it lacks of the changelog can be read in well under a second: FewRecords,
// or what was written in AcceptableAge, as reading is several times as fast as writing, and at most
// AcceptableLag records. The number of records is not enough: those of some processors have
// kilobytes.
const (
	// AcceptableLag is the greatest lag of a warm store behind the best one, in changelog records.
	AcceptableLag = 100_000
	// FewRecords are changelog records that a store may lack however old it is.
	FewRecords = 1_000
	// AcceptableAge is the greatest age of a warm store, behind the store that was written last. It
	// is several times the interval between two commits, and the time in which members join.
	AcceptableAge = 5 * time.Second
)

// warm reports whether an instance has caught up with a partition.
func (g *group) warm(inst, p int) bool {
	if g.next[inst][p] < 0 {
		return false
	}
	lag, age := g.best[p]-g.next[inst][p], g.newest[p]-g.written[inst][p]
	known := g.written[inst][p] > 0 // not by a member of an earlier version
	return lag <= g.FewRecords || lag <= g.AcceptableLag && (!known || age <= g.AcceptableAge.Milliseconds())
}

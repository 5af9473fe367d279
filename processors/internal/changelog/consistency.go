package changelog

// Consistency tells of a partition that is kept warm whether the store is as of its marker. Compaction leaves out the old value of a
// key that was written again. So a store that reads what was written long ago is, until it comes to the end, as of no moment:
// it lacks values that were already overwritten when it read their place.
type Consistency struct {
	fromOffset int64 // it is, once the log is read up to here and no transaction is half read
	consistent bool
}

// Update is told after each fetch how far r is, where the log ends, and how far behind that a store may be.
func (e *Consistency) Update(r *Applier, end, lag int64) bool {
	e.fromOffset = max(e.fromOffset, r.bulkUntil)
	if end-r.Next > lag { // it fell behind: compaction may have come to what it has not read
		e.fromOffset = max(e.fromOffset, end)
	}
	switch {
	case r.Next < e.fromOffset:
		e.consistent = false
	case !r.open: // what is read is in the store
		e.consistent = true
	}
	return e.consistent
}

package processors

// exact tells of a partition that is kept warm whether the store is as of its marker. Compaction leaves out the old value of a
// key that was written again. So a store that reads what was written long ago is, until it comes to the end, as of no moment:
// it lacks values that were already overwritten when it read their place.
type exact struct {
	from int64 // it is, once the log is read up to here and no transaction is half read
	yes  bool
}

// see is told after each fetch how far r is, where the log ends, and how far behind that a store may be.
func (e *exact) see(r *replay, end, lag int64) bool {
	e.from = max(e.from, r.until)
	if end-r.at > lag { // it fell behind: compaction may have come to what it has not read
		e.from = max(e.from, end)
	}
	switch {
	case r.at < e.from:
		e.yes = false
	case !r.open: // what is read is in the store
		e.yes = true
	}
	return e.yes
}

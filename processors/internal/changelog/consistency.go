package changelog

// Consistency tracks whether the store of a standby equals the state at its marker. Compaction
// removes the old value of a key that was written again. A store that reads old records therefore
// lacks values that had been overwritten when it read their place. It is inconsistent until it has
// read up to the end of the log at that time.
type Consistency struct {
	fromOffset int64 // the store is consistent once the log is read up to here and the last transaction is complete
	consistent bool
}

// Update is called after each fetch with the end of the log and the acceptable lag. It reports
// whether the store of r is consistent.
func (e *Consistency) Update(r *Applier, end, lag int64) bool {
	e.fromOffset = max(e.fromOffset, r.bulkUntil)
	if end-r.Next > lag { // far behind: compaction may have reached what r has not read
		e.fromOffset = max(e.fromOffset, end)
	}
	switch {
	case r.Next < e.fromOffset:
		e.consistent = false
	case !r.open: // the store has everything that was read
		e.consistent = true
	}
	return e.consistent
}

package spendcounter

// PendingBytes returns the approximate size of the next Flush.
func (c *Counter) PendingBytes() int {
	const record = 128 // of a campaign day, key and value
	return record*len(c.cache.dirty) + 8*(len(c.window.pending[0])+len(c.window.pending[1]))
}

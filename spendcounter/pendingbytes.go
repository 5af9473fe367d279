package spendcounter

// PendingBytes returns the approximate size of the next Flush.
func (c *Counter) PendingBytes() int {
	const record = 128 // of a campaign day, an hour or a part, key and value
	n := record * (len(c.cache.dirty) + len(c.cache.hours.past) + c.cache.pairs.dirty)
	for _, b := range c.window.buckets {
		n += 8 * len(b.pending)
	}
	return n
}

package spendcounter

// written reports whether entry n may have a row in the store, and remembers that it will have one.
// A day and currency without a ranking has no rows, so all rows that it gets are known from its
// first one on. When a day begins, most campaign days that are not in memory are new. A look at the
// filter takes a twentieth of the time of a read.
func (c *Counter) written(n uint32) (bool, error) {
	key := c.cache.key(&c.cache.list[n])
	if !c.isOpen(key) { // a lifetime row
		return true, nil
	}
	r, err := c.ranking(readTail(key))
	if err != nil || r.written == nil {
		return true, err
	}
	hash := c.cache.index.Hash(n)
	if r.written.has(hash) {
		return true, nil
	}
	if r.written.room == 0 && c.filterSize()+4*r.written.size() > c.cfg.CacheEntries*filterBytes {
		r.written = nil
		return false, nil
	}
	r.written.add(hash)
	return false, nil
}

// filterBytes is the greatest memory of the filters, for each campaign day that a task may keep in
// memory.
const filterBytes = 16

// filterSize returns the memory of all filters.
func (c *Counter) filterSize() (n int) {
	for _, r := range c.rankings.list {
		if r.written != nil {
			n += r.written.size()
		}
	}
	return n
}

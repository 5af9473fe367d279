package spendcounter

// maxAge is the age in flushes from which entries count as equally old.
const maxAge = 4096

// closeEpoch ends the epoch: no entry counts as changed any more. If the cache has more than limit
// entries, it keeps the youngest: half of limit, or the entries of the epoch that just ended, up to
// limit. A pair of line item and arm takes the room of an entry. All others are in the store.
func (c *cache) closeEpoch(limit int) {
	if len(c.list)+c.pairs.count > limit {
		ended := 0
		for _, n := range c.dirty {
			ended += c.pairs.weight(n)
		}
		c.evict(max(limit/2, min(limit, ended)))
	}
	c.dirty, c.fresh, c.unread = c.dirty[:0], nil, nil // new campaign days come in bursts
	c.epoch++
}

func (c *cache) evict(keep int) {
	cut, room := c.evictionAge(keep)
	old := *c
	c.list, c.keys, c.spills, c.hours.newest = nil, nil, nil, nil
	c.pairs.lists, c.pairs.count = nil, 0
	c.index.Reset(keep)
	c.list = make([]entry, 0, keep)
	for i := range old.list {
		e := &old.list[i]
		age, weight := old.age(e), old.pairs.weight(uint32(i))
		if age > cut || age == cut && room < weight {
			c.evictions++
			continue
		}
		if age == cut {
			room -= weight
		}
		c.copy(&old, e, uint32(i))
	}
}

// copy copies entry number i of old.
func (c *cache) copy(old *cache, e *entry, i uint32) {
	// The hashes were copied with old, so they are valid. The arena is smaller than old's, which
	// was not full.
	n, err := c.add(old.index.Hash(i), old.key(e))
	if err != nil {
		//nolint:forbidigo // a part outgrew the whole: to count on with half a cache would publish wrong spend
		panic("spendcounter: the kept keys need more room than all keys")
	}
	kept := *e
	kept.keyAt = c.list[n].keyAt
	if e.spill != 0 {
		c.spills = append(c.spills, old.spills[e.spill-1])
		kept.spill = uint32(len(c.spills))
	}
	c.list[n] = kept
	if c.hours.on {
		c.hours.newest[n] = old.hours.newest[i]
	}
	if c.pairs.max > 0 {
		c.pairs.copy(n, old.pairs.lists[i])
	}
}

// age returns the number of flushes since e changed.
func (c *cache) age(e *entry) uint32 { return min(c.epoch-e.epoch, maxAge) }

// evictionAge returns the age up to which entries stay, and the room for those of exactly that age.
func (c *cache) evictionAge(keep int) (age uint32, room int) {
	var count [maxAge + 1]int
	for i := range c.list {
		count[c.age(&c.list[i])] += c.pairs.weight(uint32(i))
	}
	room = keep
	for age = 0; age < maxAge && count[age] <= room; age++ {
		room -= count[age]
	}
	return age, room
}

package spendsim

import (
	"slices"
	"time"

	"github.com/weirhq/weir/spendcache/selection"
)

// Times of a client, as package spendcache/client has them. unusable is shorter than there, as it
// is in the readers.
const (
	ttl          = 5 * time.Second
	troubledTTL  = time.Second // of an answer that is not in normal mode
	refreshAhead = 8           // tenths of the TTL after which an answer is read again
	askLast      = 1000        // ms
	stale        = 30 * time.Second
	sameAge      = 100 * time.Millisecond
)

// answer is what a reader answers for all campaigns.
type answer struct {
	mode  selection.Mode
	dc    int           // chosen; -1: none
	at    int64         // when it was made
	age   time.Duration // of the figures at that time
	spent [policies]spent
}

// ageAt is the age of the figures at a time.
func (a *answer) ageAt(now int64) time.Duration {
	return a.age + time.Duration(now-a.at)*time.Millisecond
}

// modeAt is the mode of an answer that a client has kept.
func (a *answer) modeAt(now int64) selection.Mode {
	switch age := a.ageAt(now); {
	case age >= unusable:
		return selection.FailSafe
	case age >= stale:
		return max(a.mode, selection.Degraded)
	}
	return a.mode
}

// client is what the ad servers of a datacentre read with. They ask all the time, so an answer is
// read again as soon as it is old enough.
type client struct {
	w       *simulation
	dc      int
	alone   bool // asks the reader of its datacentre only, and takes each answer: for the policy own
	answer  *answer
	dueAt   int64
	lastTil [len(names)]int64 // until when the reader of a datacentre is asked last
}

// step reads if it is time.
func (c *client) step() {
	if c.w.now < c.dueAt {
		return
	}
	took, heard := c.read()
	d := ttl
	switch {
	case !heard:
		d = 250 * time.Millisecond
	case !took && !c.alone, c.answer.mode != selection.Normal && !c.alone:
		d = troubledTTL
	}
	jitter := 900 + c.w.chance.Int64N(200)
	c.dueAt = c.w.now + d.Milliseconds()*refreshAhead/10*jitter/1000
}

// read asks the reader of the own datacentre, and that of the next one if there is no answer in
// normal mode.
func (c *client) read() (took, heard bool) {
	list := []int{c.dc, (c.dc + 1) % c.w.dcs[c.dc].ring}
	slices.SortStableFunc(list, func(a, b int) int { return c.last(a) - c.last(b) })
	if c.alone {
		list = list[:1]
		list[0] = c.dc
	}
	for _, dc := range list {
		r := c.w.dcs[dc].reader
		if dc != c.dc && !c.w.faults.connects(c.dc, dc) || c.w.now < r.down || r.answer == nil {
			c.lastTil[dc] = c.w.now + askLast
			continue
		}
		heard = true
		if c.alone || c.answer == nil || c.better(r.answer) {
			if took, c.answer = true, r.answer; dc != c.dc && c.w.now > beginMs {
				c.w.marks["fallback"]++
			}
		}
		if r.answer.modeAt(c.w.now) == selection.Normal {
			break
		}
	}
	return took, heard
}

// last is 1 if the reader of a datacentre is asked after the other one.
func (c *client) last(dc int) int {
	if c.w.now < c.lastTil[dc] {
		return 1
	}
	return 0
}

// better reports whether an answer is to be used in place of the one that the client has.
func (c *client) better(a *answer) bool {
	now := c.w.now
	if x, y := a.modeAt(now), c.answer.modeAt(now); x != y {
		return x < y
	}
	return a.ageAt(now) <= c.answer.ageAt(now)+sameAge
}

// serves reports whether the ad servers of a datacentre serve the campaign of a policy.
func (d *datacentre) serves(p policy, budget int64) bool {
	c := &d.client
	if p == own {
		c = &d.alone
	}
	switch {
	case c.answer == nil:
		return false
	case p != own && c.answer.modeAt(c.w.now) == selection.FailSafe:
		return false
	}
	return c.answer.spent[p].net() < budget
}

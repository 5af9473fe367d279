package model

import (
	"slices"

	"github.com/weirhq/weir/lease"
)

// normalizeClient is c without what has no say any more in what can happen: states that differ only in it are one. When a write was
// decided matters only to a rule that compares times; which versions a lease had, to one who may renew it, release it or
// settle it; what was found in the index, to one who may still get a lease.
func (m *model) normalizeClient(c client) client {
	if m.NoNormalization {
		return c
	}
	if rule := c.step.Write.Rule; rule != nil && !slices.ContainsFunc(rule.When, timed) {
		c.step.Write.Now, c.step.Write.Skew = 0, 0
	}
	if c.ops > 0 {
		return c
	}
	if c.op == idle {
		c.buffer = lease.Candidate{}
	}
	for k := range c.holds {
		if h := &c.holds[k]; !h.Unsettled {
			h.Token, h.KeyVersion = 0, 0
		}
	}
	return c
}

func timed(c lease.Condition) bool { return c.Test == lease.Past || c.Test == lease.Ended }

// normalizePast takes from w what only a write of the past would be compared with: stamps that every clock is past, and when
// an administrator did something, if no other command of one is to come.
func (m *model) normalizePast(w *state) {
	if m.NoNormalization {
		return
	}
	behind := int64(0)
	if m.StampSkew != nil {
		behind = slices.Min(m.StampSkew)
	}
	for r := range m.Resources {
		res := &w.resources[r]
		if int64(res.stamp.at) < int64(w.now)+behind {
			res.stamp = stamp{}
		}
		if w.retires == 0 && w.revives == 0 && w.commands == [maxCommands]uint32{} {
			res.administered = 0
		}
	}
}

package model

import (
	"slices"

	"github.com/weirhq/weir/lease"
)

// normalizeClient removes from c what can have no effect any more, so that states which differ only
// in it are one. The time of a write matters only to rules that compare times. The versions of a
// lease matter only to a client that can renew, release or settle it. A candidate from the index
// matters only to a client that can still get a lease.
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

// normalizePast removes from w what only an earlier write would be compared with: write times that
// every clock has passed, and the version of the last Retire or Revive, if no such command can
// follow.
func (m *model) normalizePast(w *state) {
	if m.NoNormalization {
		return
	}
	behind := int64(0)
	if m.WriteTimeSkew != nil {
		behind = slices.Min(m.WriteTimeSkew)
	}
	for r := range m.Resources {
		res := &w.resources[r]
		if int64(res.written.at) < int64(w.now)+behind {
			res.written = writeTime{}
		}
		if w.retires == 0 && w.revives == 0 && w.commands == [maxCommands]uint32{} {
			res.administered = 0
		}
	}
}

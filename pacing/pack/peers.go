package pack

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/control"
)

// PeerAge is the greatest difference between the time of a tick and that of the parameters of
// another datacentre that count in it. A pack is written each minute.
const PeerAge = 2 * time.Minute

// peer is a node in another datacentre, whose controller moves it. There are some for each node of
// all accounts, so it is small.
type peer struct {
	at  uint32  // time of the tick, Unix s
	log float32 // control.State.Log
	dc  uint8   // index in Account.peerDCs
}

// Observe takes a pack of the account that another datacentre has written. Nodes that the document
// in force does not have are left out, and so are packs of another day: they are written again
// within a minute.
func (a *Account) Observe(m *eventspb.AccountPack) {
	if a.doc == nil || events.Day(m.GetBudgetDay()) != a.day || m.GetAtMs() < 0 {
		return
	}
	dc := slices.Index(a.peerDCs, m.GetWriterDc())
	if dc < 0 {
		if dc = len(a.peerDCs); dc > math.MaxUint8 {
			return
		}
		a.peerDCs = append(a.peerDCs, strings.Clone(m.GetWriterDc()))
	}
	if m.GetPlanShape() != nil {
		a.learning.observe(m.GetPlanShape())
	}
	p := peer{at: uint32(m.GetAtMs() / 1000), dc: uint8(dc)}
	for _, s := range m.GetShared() {
		if n, ok := a.layout.sharedAt(s.GetId()); ok {
			a.observe(&a.nodes[n], s, p)
		}
	}
	for _, c := range m.GetCampaigns() {
		at, n, ok := a.layout.campaignAt(c.GetId())
		if !ok {
			continue
		}
		a.observe(&a.nodes[n], c, p)
		arms := a.arms(at)
		for i := range arms {
			for _, x := range c.GetArms() {
				if x.GetId() == arms[i].id {
					a.observe(&arms[i], x, p)
				}
			}
		}
	}
}

// observe takes the node of a pack. p has the pack's time and datacentre. One that another
// controller moves does not count, until both datacentres have the same version of the budgets.
func (a *Account) observe(n *node, m *eventspb.PacedNode, p peer) {
	at := 0
	for at < len(n.peers) && n.peers[at].dc != p.dc {
		at++
	}
	pace := Pace(m.GetState())
	if why := control.Reason(m.GetReason()); !n.paced || why != control.Ahead && why != control.Behind || m.GetLimitedBy() != "" ||
		pace.AtMs == 0 || !pace.Valid() || cmp.Or(m.GetController(), a.pacer.Controller()) != n.pacer.Controller() {
		if at < len(n.peers) {
			n.peers = slices.Delete(n.peers, at, at+1)
		}
		return
	}
	p.log = float32(pace.Log())
	if at == len(n.peers) {
		n.peers = append(slices.Grow(n.peers, 1), p)
		return
	}
	n.peers[at] = p
}

// peersAt returns the peers that count at a time, Unix ms.
func (n *node) peersAt(atMs int64) (list control.Peers) {
	for _, p := range n.peers {
		age := time.Duration(atMs-1000*int64(p.at)) * time.Millisecond
		if age.Abs() <= PeerAge {
			list.Add(float64(p.log))
		}
	}
	return list
}

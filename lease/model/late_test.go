package model

import (
	"slices"

	"github.com/weirhq/weir/lease"
)

// lateConfigs are configurations in which a write is late: the key or resource of its decision has
// another lease by then. Each starts after a fixed history.
func lateConfigs() map[string]Config {
	base := Config{
		Rules: lease.Protocol(), Regions: []string{"A"}, Keys: []string{"k"}, Resources: []Resource{{"r", 0}, {"s", 0}},
		Length: 3, Skew: 1, Quarantine: 1, NoIndexLag: true,
	}

	// A release was written to the resource row, and not yet to the key row.
	drop := base
	drop.Clients, drop.Releases, drop.Ticks = []Client{{Ops: 3}, {Ops: 1}}, true, 8
	drop.Prefix = []string{
		"client 1 begins to get k", "client 1 reads k", "client 1 picks r", "client 1, claim k", "client 1, take r", "client 1 begins to release k",
		"client 1, settle k", "client 1, release r",
	}

	// The same liberation is executed twice.
	liberate := base
	liberate.Resources, liberate.Clients, liberate.Ticks = base.Resources[:1], []Client{{Ops: 1}, {Ops: 1}}, 14
	liberate.Keys = []string{"k", "l"}
	liberate.Liberations, liberate.Repeats, liberate.Commands = 1, 1, 1

	// Two transfers are under way. The second one may be decided in a region that has not seen the
	// first.
	transfer := base
	transfer.Regions, transfer.Resources, transfer.Clients = []string{"A", "B"}, base.Resources[:1], []Client{{Region: 1, Ops: 1}}
	transfer.Transfers, transfer.Commands, transfer.Skew, transfer.Quarantine = 2, 2, 0, 0
	transfer.Flight, transfer.TransferWait, transfer.Ticks = 2, 3, 8

	// A key is leased in both regions.
	supersede := base
	supersede.Regions, supersede.Resources = []string{"A", "B"}, []Resource{{"r", 0}, {"s", 1}}
	supersede.Clients = []Client{{Ops: 1}, {Region: 1, Ops: 4}}
	supersede.Supersedes, supersede.Crashes, supersede.Releases, supersede.Ticks = 1, 1, true, 7
	supersede.Prefix = []string{
		"client 1 begins to get k", "client 1 reads k", "client 1 picks r", "client 1, claim k", "client 1, take r", "client 1 begins to settle", "client 1, settle k",
		"client 2 begins to get k", "client 2 reads k", "client 2 picks s", "client 2, claim k", "client 2, take s", "client 2 begins to settle", "client 2, settle k",
		"command: B's s at k",
	}

	// The winner released its lease, and a client in the loser's region is about to reinstate the
	// other one.
	reinstate := supersede
	reinstate.Clients = []Client{{Ops: 2}, {Region: 1, Ops: 2}, {Region: 1, Ops: 3}}
	reinstate.Crashes, reinstate.Ticks = 0, 5
	reinstate.Prefix = append(slices.Clone(supersede.Prefix), "supersede at B", "client 1 begins to release k", "client 1, release r", "client 1, drop k",
		"row k of A comes to B", "client 2 begins to get k", "client 2 reads k")

	// B has seen that A's resource was retired, and has not seen that it was revived.
	revived := base
	revived.Regions, revived.Resources, revived.Keys = []string{"A", "B"}, base.Resources[:1], []string{"k", "l"}
	revived.Clients = []Client{{Ops: 1, Only: "k"}, {Region: 1, Ops: 1, Only: "l"}}
	revived.Retires, revived.Revives, revived.Adoptions, revived.CutBy, revived.WriteLease = 1, 2, 1, 2, 2
	revived.Length, revived.Ticks = 5, 13
	revived.Prefix = []string{"command: retire r", "retire at A", "row r comes", "command: revive r", "revive at A"}
	return map[string]Config{"revived": revived, "drop": drop, "liberate": liberate, "transfer": transfer, "supersede": supersede, "reinstate": reinstate}
}

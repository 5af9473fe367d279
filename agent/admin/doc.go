// Package admin is what administrators do to the table of leases: make it, say who may lease what, put resources in, take
// them out, and look at leases.
//
//	table       Plan, Apply, Policy        the table, its index, streams and replicas; who may do what with it
//	settings    Clients, Pools, Regions    rows that agents read
//	resources   Import, Resources, ...     a new one ──▶ the home, if no row has its name
//	                                       a known one ─▶ the region that owns it, at the version that was seen
//	leases      Lease, History             what keys hold, and how they came to it
//	regions     Vouch                      each region, by its own endpoint ──▶ until when every other may lease
//	            Adopt, MoveHome            what is left of a region that is lost, or of the home
//
// Invariants:
//
//   - A row has one writer: settings and new resources go through the home, which a row of its own names and whoever has another
//     in Config.Home is refused by; a known resource goes through its owner; what a region vouches for goes through that region.
//   - A region may lease as long as any other says so. The home says so of itself, too, while its lease lasts: when two regions do
//     not hear each other one of them goes on. So what adopts a region has all others fall silent about it first, by the
//     endpoint of each, and then waits for the latest word; only the operator can stand for one that does not answer, or for the home.
//   - The home moves by a fence through the old one. What is put in where nothing was is preceded by a look at the home's row, which
//     holds for ten seconds: that long after the fence nobody puts anything in there. For a day after it, the others are asked
//     whether they know a new resource's name.
//   - No row that is there is overwritten: it is put only where none is, and changed only at the version that was seen.
//   - A resource's row is never deleted, only retired: its version is the token of leases, and must not begin anew.
//   - Whatever is interrupted can be done again.
//
// What it does not do: it moves no resource between regions and ends no lease of others; that is for the balancer and the
// liberator, whose commands the executor of the owner carries out.
package admin

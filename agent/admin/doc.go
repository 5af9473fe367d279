// Package admin is what administrators do to the table of leases: make it, say who may lease what, put resources in, take
// them out, and look at leases.
//
//	table       Plan, Apply, Policy        the table, its index, streams and replicas; who may do what with it
//	settings    Clients, Pools, Regions    rows that agents read
//	resources   Import, Resources, ...     a new one ──▶ first region, if no row has its name
//	                                       a known one ─▶ the region that owns it, at the version that was seen
//	leases      Lease, History             what keys hold, and how they came to it
//
// Invariants:
//
//   - A row has one writer: settings and new resources go through the first of Config.Regions, and whoever administers
//     names the same one first; a known resource goes through its owner.
//   - No row that is there is overwritten: it is put only where none is, and changed only at the version that was seen.
//   - A resource's row is never deleted, only retired: its version is the token of leases, and must not begin anew.
//   - Whatever is interrupted can be done again.
//
// What it does not do: it moves no resource between regions and ends no lease of others; that is for the balancer and the
// liberator, whose commands the executor of the owner carries out.
package admin

// Package admin administers the lease table: it creates the table, writes the settings of clients,
// pools and regions, adds and retires resources, shows leases, and handles the loss of a region.
//
//	table       Plan, Apply, Policy             the table, its index, streams and replicas; IAM policies
//	settings    Create, Get, List, Update,      clients, pools and regions: rows that agents read
//	            Delete, Import
//	resources   ImportResources, Resources,     a new one      ──▶ the home region, if no row has its name
//	            Retire, Revive, SetPool         a known one    ──▶ its owner, at the version that was read
//	leases      Lease, History                  what keys hold, and how they came to it
//	regions     RenewWriteLeases                each region, by its own endpoint ──▶ write leases of the others
//	            Adopt, Readmit                  the resources of a lost region get another owner
//	            Home, MoveHome                  the region through which settings are written
//
// Invariants:
//
//   - LEASE-55: Every row has one writer region. Settings and new resources are written through the
//     home region, which a row of its own names; an Admin with another Config.Home gets ErrHome.
//     Known resources are written through their owner, and write leases through their grantor.
//   - LEASE-56: A region may grant leases while at least one grantor renews its write lease. The
//     home region also renews its own write lease, as long as it has not ended: if two regions
//     cannot reach each other, the home region continues.
//   - LEASE-57: An adoption first ends the renewal of the lost region's write lease at every
//     grantor, through the endpoint of each. Then it waits for the latest end that any of them
//     granted. An operator's assertion (Adoption.DeadSince) replaces the answer of a grantor, and
//     is required if the lost region is the home.
//   - LEASE-58: A move of the home region begins with a fence: a write of the home row through the
//     former home. A process writes a new row only within ten seconds after a read of the home row.
//     So ten seconds after the fence no process writes a new row through the former home. For a day
//     after the move, the import of a new resource asks the other regions whether they know its
//     name.
//   - LEASE-59: No existing row is overwritten: a new row is written only if there is none, and a
//     row is changed only at the version that was read.
//   - LEASE-60: A resource row is never deleted, only retired. Its version is the token of leases,
//     and must never restart.
//   - LEASE-61: Every operation can be repeated after an interruption.
//
// What it does not do: it transfers no resources between regions and ends no leases of keys; the
// balancer and the liberator decide on both, and the executor of the owner makes the writes.
package admin

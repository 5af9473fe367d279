// Package plan decides which free resources of a pool move between regions.
//
//	a View of each region, Limits ──┬─▶ Moves     a plan
//	                                ├─▶ Pulls     moves that cannot wait for the next plan
//	                                └─▶ Explain   each region in a sentence
//
// The functions use only their arguments. The views are in the topic lease.headroom (ViewOf), so a
// plan can be computed from that topic without being executed. Package balancer has the invariants
// of a plan: LEASE-37 to LEASE-39.
//
// What it does not do: it picks no resources and sends no commands (package balancer).
package plan

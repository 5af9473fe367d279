// Package plan decides which free resources of a pool move between regions.
//
//	a View of each region, Limits ──┬─▶ Moves     a plan
//	                                ├─▶ Pulls     moves that cannot wait for the next plan
//	                                └─▶ Explain   each region in a sentence
//
// The functions compute from their arguments alone. The topic lease.headroom has the views
// (ViewOf), so a plan can be computed from that topic without executing it. Package balancer has
// the invariants of a plan: B1 to B3.
//
// What it does not do: it picks no resources and sends no commands (package balancer).
package plan

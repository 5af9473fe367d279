// Package local implements the sources of package api with the runtimes of this process.
//
//	api ──▶ SpendReader ──▶ api.Router ─┬─▶ StateReader ──▶ processors.Runtime   partitions of this process
//	                                    └─▶ Peers ────────▶ the group's members  owners of the others
//	    ──▶ ClusterInfo ──────────────────▶ processors.Runtime                   state and lag of the tasks
//
// It has no state of its own and starts nothing.
package local

// Package local answers the API's questions from the runtimes of this process.
//
//	api ──▶ SpendReader ──▶ api.Router ─┬─▶ StateReader ──▶ processors.Runtime   rows of a partition that is here
//	                                    └─▶ Peers ────────▶ the group's members  which process has the others
//	    ──▶ ClusterInfo ──────────────────▶ processors.Runtime                   state and lag of the tasks
//
// It holds no state of its own and starts nothing.
package local

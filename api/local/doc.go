// Package local implements the sources of package api with the runtimes of this process.
//
//	api ──▶ SpendReader ──▶ api.Router ─┬─▶ StateReader ──▶ processors.Runtime   partitions of this process
//	                                    └─▶ Peers ────────▶ the group's members  owners of the others
//	    ──▶ App of each runtime ──────────▶ processors.Runtime                   tasks, savepoints
//	    ──▶ ClusterInfo                     settings                             brokers, topics
//	    ──▶ Leases, deadLetters             topics                               lease loop, dead letters
//
// A Program is the same for a program of your own: processors, and the API over them.
//
//	program, err := local.NewProgram(local.ProgramConfig{Processors: config}, processor)
//	err = program.Run(ctx)
//
// It has no state of its own. Only Program.Run starts something, and returns after it.
package local

// Package local implements the sources of package api with the runtimes of this process.
//
//	api.Router ─┬─▶ StateReader ────▶ processors.Runtime   partitions of this process
//	            └─▶ Peers ──────────▶ the group's members  owners of the others
//	api ──▶ App of each runtime ────▶ processors.Runtime   tasks, savepoints
//	    ──▶ ClusterInfo               settings             brokers, topics
//	    ──▶ Leases, deadLetters       topics               lease loop, dead letters
//
// Package program runs processors of a program of your own, with the API over them.
//
// It keeps only the last counts of dead letters, and starts nothing.
package local

// Package cli is what every command of weir shares and what knows no noun of weir: the global
// flags, the loading of the configuration, output formats, tables, errors with an exit code and a
// remedy.
//
//	main ─▶ NewApp(Process) ─▶ App.Execute ─▶ a command ─▶ Fail(exit code, what, why, do)
//	                                              │                └─▶ stderr, exit code
//	                                              └─▶ data on stdout, in the format of -o
//
// Invariants:
//
//  1. Only data goes to stdout; messages, progress and errors go to stderr.
//  2. A command reads the environment, the clock and the standard streams through App, so that tests run in process.
package cli

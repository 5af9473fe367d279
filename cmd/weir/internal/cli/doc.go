// Package cli holds what every command shares: global flags, configuration, output formats, tables,
// and errors with an exit code and a remedy. It does not know the terms of weir's applications.
//
//	main ─▶ NewApp(Process) ─▶ App.Execute ─▶ a command ─▶ Fail(exit code, what, why, do)
//	                                              │                └─▶ stderr, exit code
//	                                              └─▶ data on stdout, in the format of -o
//
// Invariants:
//
//  1. Only data goes to stdout; messages, progress and errors go to stderr.
//  2. A command reads the environment and the standard streams through App, so that tests run
//     commands in their process.
package cli

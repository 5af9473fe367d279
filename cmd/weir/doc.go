// Command weir is the whole system in one binary: roles to run, and commands to query and operate
// them.
//
//	main ─▶ run(ctx, process) ─▶ newRoot(app) ─▶ a command ─▶ packages that do the work
//	          │                                      │
//	          └── exit code, error on stderr ◀───────┘ data on stdout, in the format of -o
//
//	internal/cli      flags, configuration, output, exit codes: shared by all commands
//	internal/connect  brokers, API, lease table and remedies: shared by several command groups
//	internal/node     one process: the role table, memory, API
//	internal/...      the commands, one package for each command group
//
// A command is thin: it reads flags and configuration, calls a package, and prints the result. To
// add one, write newXCmd(a *cli.App) *cobra.Command in the package of its command group, and add it
// to Commands there.
//
// Invariants:
//
//  1. Only data goes to stdout. Messages, progress and errors go to stderr.
//  2. Every error states what failed, why, and what to do now. Its class determines the exit code,
//     see package cli.
//  3. Commands read the environment and the standard streams through cli.App, so that tests run
//     them in their process.
package main

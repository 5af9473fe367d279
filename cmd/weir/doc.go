// Command weir is the whole system in one binary: roles to run, and commands to ask and to operate them.
//
//	main ─▶ run(ctx, process) ─▶ newRoot(app) ─▶ a command ─▶ packages that do the work
//	          │                                      │
//	          └── exit code, error on stderr ◀───────┘ data on stdout, in the format of -o
//
// A command is thin: it reads flags and configuration, calls a package, prints what came back. What all of them need
// is in app. To add one, write newXCmd(a *app) *cobra.Command in x.go and name it in commands.
//
// Invariants:
//
//  1. Data goes to stdout and nothing else does; talk, progress and errors go to stderr.
//  2. Every error says what failed, why, and what to do now; its class decides the exit code (see exit.go).
//  3. No command reads the environment, the clock or the standard streams of the process by itself: tests run the
//     commands in process, through run.
package main

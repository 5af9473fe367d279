// Package node is one weir process: a table of roles, a memory budget that is divided between the
// roles of the process, the API and the metrics.
//
//	config, roles ─▶ New ─┬─▶ Role.New ─▶ Part: processors.Runtime, or executors
//	                      ├─▶ Role.New ─▶ Part ...
//	                      └─▶ api.Server ◀── api/local: sources that the parts serve
//
// To add a role, write a file with a function that returns its Role, and name the function in
// Roles. Flags, help, memory, topics, doctor and readiness follow from the entry.
//
// Invariants:
//
//  1. No code branches on the name of a role; the entry holds what differs.
//  2. Background work of a part begins before all parts run and ends after all of them.
//  3. Errors are typed (ConfigError, RoleError, StopTimeoutError) and have no exit code: package
//     connect maps them.
package node

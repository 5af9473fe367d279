// Package node is one weir process: a table of roles, a memory budget that is divided between the
// roles of the process, the API and the metrics.
//
//	config, roles ─▶ New ─┬─▶ Role.New ─▶ Part: processors.Runtime, or executors
//	                      ├─▶ Role.New ─▶ Part ...
//	                      └─▶ api.Server ◀── api/local: the application of each part
//
// To add a role, write a file with a function that returns its Role, and name the function in
// Roles. Flags, help, memory, topics, doctor, readiness, the API and the commands that take --app
// follow from the entry.
//
// Invariants:
//
//  1. No code branches on the name of a role; the differences are in the entries.
//  2. Background work of a part begins before all parts run and ends after all of them.
//  3. A role that depends on another cluster (Role.Remote) is supervised: it is started again for
//     ever. Its failure does not end the process, and does not make the process unready while
//     another role works. Only a wrong configuration, or a state directory that the role cannot
//     use, ends the process, and only before the role has worked once.
//  4. Errors are typed (ConfigError, RoleError, StopTimeoutError) and have no exit code: package
//     connect maps them.
package node

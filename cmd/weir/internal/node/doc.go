// Package node is one process at work: it makes the runtimes of the roles that the process has,
// divides memory between them, and serves the API and the metrics.
//
//	config, roles ─▶ New ─┬─▶ spend counter ─▶ processors.Runtime ─┐
//	                      ├─▶ lease loop ────▶ processors.Runtime, executors
//	                      └─▶ api.Server ◀── api/local ◀───────────┘
//
// Its errors are typed (ConfigError, RoleError, StopTimeoutError) and know no exit code: package
// connect maps them.
package node

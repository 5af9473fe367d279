// Package offline works on the state of a processor beside the runtime: savepoints of a running process, and operations for which the
// application has to be stopped.
//
//	Savepoint      a named copy of a process's store, taken online
//	Replay         counts the inputs again under another application id, compares, and promotes the difference
//	Repartition    moves the state to topics with another number of partitions
//
// Replay's promotion and Repartition write to a changelog only as the exclusive member of the application's group: no process can run
// the application at that time, and one that is running makes them fail with ErrInUse.
package offline

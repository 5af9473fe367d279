// Package state has the commands about the state of an application: weir state, savepoint, replay,
// repartition and dlq.
package state

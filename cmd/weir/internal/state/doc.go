// Package state has the commands about the state of a processor: weir state, savepoint, replay,
// repartition and dlq.
package state

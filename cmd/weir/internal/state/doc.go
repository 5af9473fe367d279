// Package state has the commands about the state of a processor: weir state, savepoint, replay,
// rekey and dlq.
package state

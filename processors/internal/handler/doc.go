// Package handler makes the handler of a task from committed state, rebuilds what it keeps in memory from the inputs, and names the
// task in its errors.
package handler

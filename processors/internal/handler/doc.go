// Package handler makes the handler of a task from committed state, lets it read its inputs again
// to rebuild what it keeps in memory, and names the partition in its errors.
package handler

// Package poll waits between two looks at something, until a context ends.
package poll

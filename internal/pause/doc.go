// Package pause waits for a duration or for the end of a context, whichever comes first.
package pause

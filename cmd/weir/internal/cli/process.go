package cli

import (
	"io"
)

// Process is what the operating system gives a program. A test gives its own.
type Process struct {
	Args    []string // without the program's name
	Environ []string // "NAME=value"
	Stdin   io.Reader
	Stdout  io.Writer // data only
	Stderr  io.Writer // everything else
}

package cli

import (
	"io"
)

// Process is the arguments, the environment and the streams of a process. Tests have their own.
type Process struct {
	Args    []string // without the name of the program
	Environ []string // "NAME=value"
	Stdin   io.Reader
	Stdout  io.Writer // data only
	Stderr  io.Writer // everything else
}

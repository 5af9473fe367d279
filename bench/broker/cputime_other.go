//go:build !unix

package broker

import "time"

// cpuTime returns that the CPU time is not known here.
func cpuTime() (used time.Duration, ok bool) { return 0, false }

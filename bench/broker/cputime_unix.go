//go:build unix

package broker

import (
	"syscall"
	"time"
)

// cpuTime returns the CPU time that the process has used, and whether it is known.
func cpuTime() (used time.Duration, ok bool) {
	var u syscall.Rusage
	ok = syscall.Getrusage(syscall.RUSAGE_SELF, &u) == nil
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), ok
}

package spendcounter

import (
	"syscall"
	"testing"
	"time"
)

// threadTime returns the processor time of this thread: the cost of the fold on a machine with
// other load.
func threadTime(tb testing.TB) time.Duration {
	var u syscall.Rusage
	const thread = 1 // RUSAGE_THREAD
	if err := syscall.Getrusage(thread, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

package spendcounter

import (
	"syscall"
	"testing"
	"time"
)

// threadTime is the time that this thread has had a core: what the fold costs on a machine that does other things too.
func threadTime(tb testing.TB) time.Duration {
	var u syscall.Rusage
	const thread = 1 // RUSAGE_THREAD
	if err := syscall.Getrusage(thread, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

package main

import (
	"os"
	"syscall"
)

// peakOf returns the greatest resident memory that a process had in bytes.
func peakOf(s *os.ProcessState) int64 {
	if u, ok := s.SysUsage().(*syscall.Rusage); ok {
		return u.Maxrss << 10 // in KiB
	}
	return 0
}

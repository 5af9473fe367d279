package child

import (
	"os"
	"syscall"
)

// Peak returns the greatest resident memory that a process had in bytes.
func Peak(s *os.ProcessState) int64 {
	if u, ok := s.SysUsage().(*syscall.Rusage); ok {
		return u.Maxrss << 10 // in KiB
	}
	return 0
}

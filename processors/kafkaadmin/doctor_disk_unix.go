//go:build linux || darwin

package kafkaadmin

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

func statDisk(dir string) (diskStat, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return diskStat{}, err
	}
	unit := uint64(s.Bsize)
	return diskStat{bytes: s.Blocks * unit, freeBytes: s.Bavail * unit, inodes: s.Files, freeInodes: s.Ffree}, nil
}

// lockHolder returns the process that has locked the file, or 0. It takes no lock itself, so it
// cannot disturb a process that is starting.
func lockHolder(file string) (int, error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	l := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &l); err != nil {
		return 0, err
	}
	if l.Type == unix.F_UNLCK {
		return 0, nil
	}
	return int(l.Pid), nil
}

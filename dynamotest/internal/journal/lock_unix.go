//go:build unix

package journal

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// lockFile takes the lock of the file, which goes with the process, and writes who has it into the file.
func lockFile(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, _ := os.ReadFile(name) // only to say more
		return nil, errors.Join(fmt.Errorf("%s: %w", strings.TrimSpace(string(holder)), err), f.Close())
	}
	if err := f.Truncate(0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if _, err := fmt.Fprintf(f, "process %d\n", os.Getpid()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

//go:build !unix

package journal

import "os"

// lockFile opens the file. Where there is no flock, two processes with one directory are not kept apart.
func lockFile(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
}

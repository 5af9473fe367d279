//go:build !unix

package journal

import "os"

// lockFile opens the file. Without flock, nothing prevents two processes from opening one
// directory.
func lockFile(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
}

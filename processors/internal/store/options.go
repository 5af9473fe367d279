package store

import (
	"errors"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rs/zerolog"
)

// Options are the location and the limits of a store. No field has a default.
type Options struct {
	FS            vfs.FS
	Dir           string // the state directory; the store is in its subdirectory with the name of the application
	Instance      string // written to a file beside the lock
	Log           *zerolog.Logger
	CacheBytes    int64
	MemtableBytes int64
	BallastBytes  int64
}

// Errors to branch on. The texts that wrap them state the cause and the remedy.
var (
	// ErrLocked means that another process uses the state directory.
	ErrLocked = errors.New("state directory is locked")
	// ErrNewer means that a newer version wrote the store.
	ErrNewer = errors.New("state was written by a newer version")
	// ErrForeign means that the state directory belongs to another application.
	ErrForeign = errors.New("state directory belongs to another application")
)

package store

import (
	"errors"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rs/zerolog"
)

// Options say where a store is and what it may take. No field has a default.
type Options struct {
	FS            vfs.FS
	Dir           string // the state directory; the store is in a directory of it that is named after the application
	Instance      string // written beside the lock
	Log           *zerolog.Logger
	CacheBytes    int64
	MemtableBytes int64
	BallastBytes  int64
}

// Errors to branch on. What they wrap says what happened and what to do.
var (
	// ErrLocked: another process holds the state directory.
	ErrLocked = errors.New("state directory is locked")
	// ErrNewer: the store was written by a newer version.
	ErrNewer = errors.New("state was written by a newer version")
	// ErrDiverged: the state directory belongs to another application.
	ErrDiverged = errors.New("state directory of another application")
)

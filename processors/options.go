package processors

import (
	"errors"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rs/zerolog"
)

// storeOptions say where a store is and what it may take. No field has a default.
type storeOptions struct {
	FS           vfs.FS
	Dir          string // the state directory; the store is in a directory of it that is named after the application
	Instance     string // written beside the lock
	Log          *zerolog.Logger
	CacheBytes   int64
	WriteBytes   int64
	BallastBytes int64
}

// Errors to branch on. What they wrap says what happened and what to do.
var (
	// errLocked: another process holds the state directory.
	errLocked = errors.New("state directory is locked")
	// errNewer: the store was written by a newer version.
	errNewer = errors.New("state was written by a newer version")
	// errForeign: the state directory belongs to another application.
	errForeign = errors.New("state directory of another application")
)

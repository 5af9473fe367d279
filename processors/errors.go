package processors

import (
	"errors"

	"github.com/weirhq/weir/processors/internal/store"
)

// Errors to branch on. What they wrap says what happened and what to do.
var (
	// ErrLocked: another process holds the state directory.
	ErrLocked = store.ErrLocked
	// ErrNewer: the store was written by a newer version.
	ErrNewer = store.ErrNewer
	// ErrTransactions: the brokers do not speak transactions v2.
	ErrTransactions = errors.New("brokers without transactions v2")
	// ErrTopics: a topic is missing or has the wrong number of partitions.
	ErrTopics = errors.New("topics do not fit")
	// ErrForeign: the state directory belongs to another application.
	ErrForeign = store.ErrDiverged
)

// ErrDiskFull says that the disk of the state directory has no room left. The process has left its group; the store is as a crash at
// that moment would have left it, and the next start reads what it lacks from the changelog.
var ErrDiskFull = store.ErrDiskFull

// ErrDisk says that the disk of the state directory refuses writes or damages what was written. What is said of ErrDiskFull holds.
var ErrDisk = store.ErrDisk

package processors

import (
	"errors"
)

// Errors to branch on. What they wrap says what happened and what to do.
var (
	// ErrLocked: another process holds the state directory.
	ErrLocked = errors.New("state directory is locked")
	// ErrNewer: the store was written by a newer version.
	ErrNewer = errors.New("state was written by a newer version")
	// ErrTransactions: the brokers do not speak transactions v2.
	ErrTransactions = errors.New("brokers without transactions v2")
	// ErrTopics: a topic is missing or has the wrong number of partitions.
	ErrTopics = errors.New("topics do not fit")
	// ErrInstance: another process runs under the same instance name.
	ErrInstance = errors.New("instance name is taken")
	// ErrForeign: the state directory belongs to another application.
	ErrForeign = errors.New("state directory of another application")
)

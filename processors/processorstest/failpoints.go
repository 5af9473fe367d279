package processorstest

import (
	"errors"

	"github.com/weirhq/weir/processors/internal/failpoint"
)

// Failpoint is a moment in a commit at which a test can kill or freeze a process.
type Failpoint = failpoint.Point

// The failpoints of a commit, in their order.
const (
	Flushed  = failpoint.Flushed  // the handlers have returned their changes; nothing is produced
	Produced = failpoint.Produced // the client has all records; the brokers may have some of them
	Written  = failpoint.Written  // the brokers have all records, and the transaction is open
	Ended    = failpoint.Ended    // the brokers know the outcome; the store does not
	Applied  = failpoint.Applied  // the store has the transaction
)

// Failpoints lists the failpoints of a commit, in their order.
func Failpoints() []Failpoint { return []Failpoint{Flushed, Produced, Written, Ended, Applied} }

// What Process.Await returns.
var (
	// ErrKilled reports that the process was killed.
	ErrKilled = errors.New("killed")
	// ErrFrozen reports that the process is frozen at a failpoint.
	ErrFrozen = errors.New("frozen")
)

package processors

import (
	"errors"

	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/internal/topics"
)

// Errors to branch on with errors.Is. The error that wraps one of them states what failed and what
// to do.
var (
	// ErrConfig reports a Config or a Processor that New refuses.
	ErrConfig = errors.New("invalid configuration")
	// ErrLocked reports that another process uses the state directory.
	ErrLocked = store.ErrLocked
	// ErrNewer reports a store that a newer version has written.
	ErrNewer = store.ErrNewer
	// ErrForeign reports a state directory of another application.
	ErrForeign = store.ErrForeign
	// ErrTransactions reports brokers without transactions v2 (KIP-890).
	// Config.AllowOldTransactions permits them.
	ErrTransactions = errors.New("the brokers do not have transactions v2")
	// ErrTopics reports a topic that is missing or has the wrong number of partitions, or a
	// changelog that loses records; see Config.Topics.
	ErrTopics = topics.ErrTopics
	// ErrSettings reports that another process of the group has other stream.Processor.Settings.
	ErrSettings = errors.New("the processes of the group have different settings")
	// ErrNotMoved reports that the state of the former application was not moved to this one; see
	// Config.FormerChangelogs. Nothing was changed.
	ErrNotMoved = errors.New("the state of the former partitions was not moved here")
	// ErrPartlyMoved reports that offline.Repartition has not moved the whole state here: it was
	// interrupted, or has failed. Calling it again completes the move.
	ErrPartlyMoved = errors.New("the move is not complete")
	// ErrMovedAway reports that offline.Repartition has moved the state to another application,
	// which would lack what this one counted now. offline.UndoRepartition lets this one run again.
	ErrMovedAway = errors.New("the state was moved to another application")
	// ErrNotRunning reports that Run is not at work, so no store is open.
	ErrNotRunning = errors.New("the processor is not running")
	// ErrNotOwned reports a question to a partition that does not run in this process.
	ErrNotOwned = errors.New("the partition is not owned by this process")
	// ErrNoPartition reports a question to a partition that the processor does not have.
	ErrNoPartition = errors.New("the processor has no such partition")
	// ErrRestoring reports a question to a partition that is being taken over.
	ErrRestoring = errors.New("the partition is being restored")
	// ErrStopped reports a question to a partition that is stopped until an operator acts.
	ErrStopped = errors.New("the partition is stopped")
	// ErrAllStopped reports that all partitions of this process are stopped; see Config.EndStopped.
	ErrAllStopped = errors.New("all partitions are stopped")
	// ErrBusy reports that too many questions wait for a partition.
	ErrBusy = errors.New("too many questions wait")
	// ErrNotCommitted reports that a question was put to the handler, and that its transaction did
	// not commit or has an outcome that this process does not know.
	ErrNotCommitted = errors.New("the transaction of the question did not commit, or its outcome is not known")
	// ErrDiskFull reports that the disk of the state directory has no space left. The process has
	// left its group. The store is as a crash at that moment leaves it. The next start reads what
	// the store lacks from the changelog.
	ErrDiskFull = store.ErrDiskFull
	// ErrDisk reports that the disk of the state directory refuses writes, or has damaged data.
	// Apart from the cause it is like ErrDiskFull.
	ErrDisk = store.ErrDisk
)

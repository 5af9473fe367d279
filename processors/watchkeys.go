package processors

import (
	"fmt"

	"github.com/weirhq/weir/stream"
)

// Watch reports commits that change keys of a table which begin with prefix, in a partition that
// this process runs. It is for those who wait for a change, such as the API's long polls: register,
// read a Snapshot, and if it does not have what you wait for, receive from changed and read again.
//
//   - changed has a value after a transaction with such a key has committed and a Snapshot shows
//     it. Several commits may be one value. A value may come without such a commit.
//   - changed is closed when the handler of the partition ends: the partition moves, stops or is
//     taken over again, or Run ends. Watch again then; its error has the reason.
//   - stop ends the watch. Call it in the end, also after changed was closed.
//
// The table is one that the changelog has. The changes of a partition that is watched are not kept
// in the write buffer of a worker that is behind. A commit to a partition without a watch pays an
// atomic load. The errors are those of Ask.
func (r *Runtime) Watch(partition int32, table byte, prefix []byte) (changed <-chan struct{}, stop func(), err error) {
	if table >= stream.FirstLocalTable {
		return nil, nil, fmt.Errorf("%w: table %d of %s is local, and its changes are not reported: watch a table that the changelog has",
			ErrConfig, table, r.proc.App)
	}
	in := r.directory().at(partition)
	if in == nil {
		return nil, nil, r.whyNot(partition)
	}
	changed, stop, ok := in.watches.Add(append([]byte{table}, prefix...))
	if !ok {
		return nil, nil, r.whyNot(partition)
	}
	return changed, stop, nil
}

// watched reports whether there are watches of the partition. in may be nil.
func (in *inbox) watched() bool { return in != nil && !in.watches.Empty() }

// changesStored wakes the watches of what the last transaction of the task changed, which the store
// has now.
func (t *task) changesStored() {
	if !t.inbox.watched() {
		return
	}
	t.inbox.watches.Changed(func(yield func([]byte) bool) {
		for i := range t.changes.List {
			c := &t.changes.List[i]
			if (c.Op == stream.OpPut || c.Op == stream.OpDelete) && !yield(c.LogKey()) {
				return
			}
		}
	})
}

// bufferStored wakes all watches of the task: the store has the changes of earlier transactions
// now, whose keys are forgotten. A watch that began while they were in the buffer did not see them.
func (t *task) bufferStored() {
	if t.inbox.watched() {
		t.inbox.watches.WakeAll()
	}
}

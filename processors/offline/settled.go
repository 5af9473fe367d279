package offline

import (
	"errors"
	"fmt"

	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/stream"
)

// ErrUnsettled reports a state of the live processor that is not a function of the inputs yet, see
// stream.Processor.Settled. It will be after further transactions of the live processor.
var ErrUnsettled = errors.New("the live state is not settled")

// getFunc reads a key of a partition.
type getFunc func(partition int32, table byte, key []byte) ([]byte, error)

// getOf returns the getFunc of a store.
func getOf(s *store.Offline) getFunc {
	return func(p int32, table byte, key []byte) ([]byte, error) {
		return store.Get(s.DB, store.Key(p, table, key))
	}
}

// settled reports whether the state of a partition is a function of the inputs.
func settled(proc *stream.Processor, p int32, get getFunc) (bool, error) {
	if proc.Settled == nil {
		return true, nil
	}
	ok, err := proc.Settled(func(table byte, key []byte) ([]byte, error) { return get(p, table, key) })
	if err != nil {
		return false, fmt.Errorf("partition %d of %s: %w", p, proc.App, err)
	}
	return ok, nil
}

// Unsettled returns the partitions whose state was not a function of the inputs yet. A replay
// cannot be compared with them.
func (s *Savepoint) Unsettled() (list []int32) {
	for _, part := range s.Partitions {
		if part.Unsettled {
			list = append(list, part.Partition)
		}
	}
	return list
}

package state

import (
	"fmt"

	"github.com/weirhq/weir/processors/offline"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/stream"
)

// spendMove is how the runtime moves the state of the spend counter as move describes it.
func spendMove(move *spendcounter.Repartitioner) offline.Repartitioning {
	return offline.Repartitioning{
		Partition: func(table byte, key, value []byte) (int32, error) {
			shard, ok, err := move.Partition(table, key, value)
			if err == nil && !ok {
				shard = offline.NoPartition
			}
			return shard, err
		},
		Extract: func(h stream.Handler, put offline.Put) error {
			c, ok := h.(*spendcounter.Counter)
			if !ok {
				return fmt.Errorf("the state to move has a %T where a *spendcounter.Counter belongs", h)
			}
			return move.Extract(c, spendcounter.Put(put))
		},
		Finish: func(put offline.Put) error { return move.Finish(spendcounter.Put(put)) },
	}
}

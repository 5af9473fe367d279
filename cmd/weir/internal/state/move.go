package state

import (
	"fmt"

	"github.com/weirhq/weir/processors/offline"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/stream"
)

// spendMove adapts the spend counter's Repartitioner to the runtime.
func spendMove(move *spendcounter.Repartitioner) offline.Repartitioning {
	return offline.Repartitioning{
		Partition: func(table byte, key, value []byte) (int32, error) {
			shard, ok, err := move.Partition(table, key, value)
			if err == nil && !ok {
				shard = offline.NoPartition
			}
			return shard, err
		},
		Extract: func(h stream.Handler, put offline.PutFunc) error {
			c, ok := h.(*spendcounter.Counter)
			if !ok {
				return fmt.Errorf("the state to move has a %T where a *spendcounter.Counter belongs", h)
			}
			return move.Extract(c, spendcounter.PutFunc(put))
		},
		Finish: func(put offline.PutFunc) error { return move.Finish(spendcounter.PutFunc(put)) },
	}
}

package roles

import (
	"fmt"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/spendcounter"
)

// Rekey is what processors.Rekey needs to move the state of the spend counter.
type Rekey struct {
	From, To processors.Processor
	How      processors.Rekeying
}

// RekeyFrom moves the state of another layout to that of s.
func (s Spend) RekeyFrom(l events.Layout) (r Rekey, err error) {
	former := s
	former.Layout, former.Events = l, ""
	former.defaults()
	cfg, _, err := former.counter()
	if err != nil {
		return r, err
	}
	move, err := spendcounter.NewMove(cfg, l.Partitions(), s.Layout.Partitions())
	if err != nil {
		return r, err
	}
	if r.From, err = former.Processor(); err != nil {
		return r, err
	}
	r.From.New = func(t processors.Task) (processors.Handler, error) { return move.Source(t) }
	if r.To, err = s.Processor(); err != nil {
		return r, err
	}
	r.How = processors.Rekeying{
		Place: func(table byte, key, value []byte) (int32, error) {
			shard, ok, err := move.Place(table, key, value)
			if err == nil && !ok {
				shard = processors.Nowhere
			}
			return shard, err
		},
		Take: func(h processors.Handler, put processors.Put) error {
			c, ok := h.(*spendcounter.Counter)
			if !ok {
				return fmt.Errorf("%T is no counter of the move", h)
			}
			return move.Take(c, spendcounter.Put(put))
		},
		Rest: func(put processors.Put) error { return move.Rest(spendcounter.Put(put)) },
	}
	return r, nil
}

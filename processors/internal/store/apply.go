package store

import (
	"github.com/cockroachdb/pebble/v2"
	"github.com/weirhq/weir/stream"
)

// Apply adds changes of partition p to a batch.
func Apply(b *pebble.Batch, p int32, list []stream.Change) error {
	for i := range list {
		c := &list[i]
		var err error
		switch c.Op {
		case stream.OpPut:
			err = b.Set(c.StoreKey(p), c.Value, nil)
		case stream.OpDelete:
			err = b.Delete(c.StoreKey(p), nil)
		case stream.OpDeleteRange:
			err = b.DeleteRange(c.StoreKey(p), Key(p, c.Table, c.Value), nil)
		case stream.OpEmit:
		}
		if err != nil {
			return err
		}
	}
	return nil
}

package spendcounter

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/stream"
)

// imports are the positions in the imports of this transaction: the sequence number from which an
// import was not applied yet. Those of all imports are in TableImports.
type imports map[events.ImportID]int64

// ReplayHeader is the header of a dead letter that was produced again. An operator decided to count
// the record, and a dead letter is replayed once. So the record is never late, and it is new even
// if its import has passed it.
const ReplayHeader = "weir-replay-of"

// replayed is the sequence number of a record with a ReplayHeader.
const replayed = -1

// importOf returns the import of a record. ok is false if a header is malformed, or if there are
// two, because either may be wrong. found is false if the record was not imported.
func importOf(headers []stream.Header) (id events.ImportID, sequence int64, found, ok bool) {
	for i := range headers {
		switch headers[i].Key {
		case ReplayHeader:
			return id, replayed, true, true
		case events.ImportHeader:
			if found {
				return id, 0, true, false
			}
			found = true
			if id, sequence, ok = events.ParseImport(headers[i].Value); !ok {
				return id, 0, true, false
			}
		}
	}
	return id, sequence, found, true
}

// importNext returns the position in an import.
func (c *Counter) importNext(id events.ImportID) (int64, error) {
	if next, ok := c.imports[id]; ok {
		return next, nil
	}
	value, err := c.task.Get(TableImports, id[:])
	if err == nil && value != nil && len(value) != 8 {
		err = fmt.Errorf("a value of %d bytes: rebuild the store from its changelog", len(value))
	}
	if err != nil {
		return 0, fmt.Errorf("spend counter, partition %d: read import %x: %w", c.task.Partition, id, err)
	}
	if value == nil {
		return 0, nil
	}
	return int64(binary.BigEndian.Uint64(value)), nil
}

func (c *Counter) flushImports(ch *stream.Changes) {
	byID := func(a, b events.ImportID) int { return bytes.Compare(a[:], b[:]) }
	for _, id := range slices.SortedFunc(maps.Keys(c.imports), byID) {
		ch.Put(TableImports, id[:], binary.BigEndian.AppendUint64(nil, uint64(c.imports[id])))
	}
	clear(c.imports)
}

package spendcounter

import (
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/idset"
)

// chunk is the number of records that go through the passes together. Their columns fit the
// second-level cache.
const chunk = 512

const heartbeat = uint8(eventspb.EventType_EVENT_TYPE_HEARTBEAT)

// rows are the valid records of a chunk, in columns for the passes. account, campaign and serving
// point into the values of the records.
type rows struct {
	n        int
	rec      [chunk]int32  // index in Batch.Records
	id       [chunk]uint64 // idset.ID of event id and price
	key      [chunk]uint64 // hash of the spend key
	price    [chunk]int64
	event    [chunk]int64         // ms
	ingest   [chunk]int64         // ms, no more than MaxTimestampMs after the record's time
	origin   [chunk]events.Origin // of a copied record
	day      [chunk]events.Day
	currency [chunk]events.Currency
	entry    [chunk]uint32
	dc       [chunk]uint16 // noDC: a new name
	typ      [chunk]uint8
	imported [chunk]bool
	known    [chunk]bool // an imported event that was applied before
	importOf [chunk]events.ImportID
	importAt [chunk]int64       // sequence number in the import
	found    [chunk]idset.Found // whether the event id was in the duplicate set
	bucket   [chunk]*bucket     // nil: the event is late
	set      [chunk]*idset.Set  // of the bucket
	account  [chunk][]byte
	campaign [chunk][]byte
	serving  [chunk][]byte
	pairs    *pairColumn    // nil: not counted
	rejected []rejectedCopy // copies of the chunk that are not in rows, in the order of the log
}

// move copies row from to row to.
func (r *rows) move(to, from int) {
	if to == from {
		return
	}
	r.rec[to], r.id[to], r.key[to] = r.rec[from], r.id[from], r.key[from]
	r.price[to], r.event[to], r.ingest[to] = r.price[from], r.event[from], r.ingest[from]
	r.day[to], r.currency[to] = r.day[from], r.currency[from]
	r.dc[to], r.typ[to], r.known[to] = r.dc[from], r.typ[from], r.known[from]
	r.account[to], r.campaign[to] = r.account[from], r.campaign[from]
	if r.pairs != nil {
		r.pairs.key[to] = r.pairs.key[from]
	}
}

// release drops the references into the records' values, which the runtime reuses.
func (r *rows) release() {
	r.n = 0
	clear(r.rejected)
	r.rejected = r.rejected[:0]
	clear(r.account[:])
	clear(r.campaign[:])
	clear(r.serving[:])
	clear(r.bucket[:])
	clear(r.set[:])
}

package spendcounter

import (
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
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
	id, key  [chunk]uint64 // hashes of the event id and of the spend key
	price    [chunk]int64
	ingest   [chunk]int64 // ms, no more than MaxTimestampMs before the record's time
	originAt [chunk]int64 // origin offset of a copied record
	originOf [chunk]int32 // origin partition of a copied record
	day      [chunk]events.Day
	currency [chunk]events.Currency
	entry    [chunk]uint32
	dc       [chunk]uint16 // noDC: a new name
	typ      [chunk]uint8
	seen     [chunk]bool // the event id was in the duplicate set
	account  [chunk][]byte
	campaign [chunk][]byte
	serving  [chunk][]byte
}

// move copies row from to row to.
func (r *rows) move(to, from int) {
	if to == from {
		return
	}
	r.rec[to], r.id[to], r.key[to] = r.rec[from], r.id[from], r.key[from]
	r.price[to], r.ingest[to] = r.price[from], r.ingest[from]
	r.day[to], r.currency[to] = r.day[from], r.currency[from]
	r.dc[to], r.typ[to] = r.dc[from], r.typ[from]
	r.account[to], r.campaign[to] = r.account[from], r.campaign[from]
}

// release drops the references into the records' values, which the runtime reuses.
func (r *rows) release() {
	r.n = 0
	clear(r.account[:])
	clear(r.campaign[:])
	clear(r.serving[:])
}

package bridge

import (
	"strconv"

	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// decoder makes changes of records and of scanned items. It has no state: one serves all goroutines.
type decoder struct {
	region     string
	partitions int32
}

// streamPos is where a record stands.
type streamPos struct {
	shard, sequence string
	ms              int64 // when it was written, by the stream
}

// heartbeat is one beat of a region's row of beats.
type heartbeat struct {
	from              string
	writtenMs, seenMs int64
}

// What became of a record; the closed set of a metric's outcomes.
const (
	outcomeChange    = "change"
	outcomeForeign   = "foreign" // written in another region, whose bridge has it
	outcomeSkipped   = "skipped" // a row that nobody down the stream wants
	outcomeHeartbeat = "beat"
	outcomeReject    = "reject"
)

func keysOf(r *streamtypes.Record) (p lease.PrimaryKey) {
	if r.Dynamodb != nil {
		_, p.Partition, _ = image{stream: r.Dynamodb.Keys}.attribute(table.PK)
		_, p.Sort, _ = image{stream: r.Dynamodb.Keys}.attribute(table.SK)
	}
	return p
}

// record adds to d what a record says, and tells the outcome, with the reason if it is rejected.
func (x *decoder) record(d *batch, at streamPos, r *streamtypes.Record, nowMs int64) (outcome, reason string) {
	outcome, why := x.try(d, at, r, nowMs)
	if why != nil {
		x.reject(d, at, r, why)
		return outcomeReject, why.reason
	}
	return outcome, ""
}

func (x *decoder) try(d *batch, at streamPos, r *streamtypes.Record, nowMs int64) (string, *refusal) {
	if r.Dynamodb == nil {
		return "", &refusal{ReasonImage, "the record has no change"}
	}
	for _, name := range []string{table.PK, table.SK} {
		if k, s, _ := (image{stream: r.Dynamodb.Keys}).attribute(name); k != text || s == "" {
			return "", &refusal{ReasonKey, "the primary key is not of strings " + table.PK + " and " + table.SK}
		}
	}
	old, now := image{stream: r.Dynamodb.OldImage}, fields{image: image{stream: r.Dynamodb.NewImage}}
	gone := r.EventName == streamtypes.OperationTypeRemove
	if gone {
		now.image, old = old, image{}
	}
	of := rowOf(keysOf(r))
	switch {
	case of.kind == unknownRow:
		return "", &refusal{ReasonPartition, "no row of the table has this primary key"}
	case of.kind == skippedRow:
		return outcomeSkipped, nil
	case now.empty():
		return "", &refusal{ReasonImage, "the stream does not show the item: its view must be NEW_AND_OLD_IMAGES"}
	case of.kind == heartbeatRow:
		return x.heartbeat(d, &of, &now, gone, nowMs)
	}
	switch writer := now.text(table.WriterRegion); {
	case now.wrong != nil:
		return "", now.wrong
	case writer == "":
		return "", &refusal{ReasonWriter, "attribute " + table.WriterRegion + " is missing: it says whose stream counts"}
	case writer != x.region:
		return outcomeForeign, nil
	}
	c := of.change(&now)
	if now.wrong != nil {
		return "", now.wrong
	}
	c.Region, c.AtMs, c.Gone = x.region, at.ms, gone
	was := fields{image: old}
	if of.kind.versioned() && !gone && !old.empty() {
		if before := was.number(table.Version); was.wrong == nil && before >= versionOf(c) {
			return "", &refusal{ReasonStale, "attribute version goes from " + strconv.FormatInt(before, 10) + " to " + strconv.FormatInt(versionOf(c), 10) + ": every write adds to it"}
		}
	}
	if gone { // a write of its own: what it ends is older
		setVersion(c, max(versionOf(c), versionOf(c)+1))
	}
	if pool := was.text(table.PoolID); of.kind == resourceRow && was.wrong == nil && pool != "" && pool != c.Pool {
		left := proto.CloneOf(c)
		left.Pool, left.Gone = pool, true
		if why := x.emit(d, left); why != nil {
			return "", why
		}
	}
	return outcomeChange, x.emit(d, c)
}

func (x *decoder) heartbeat(d *batch, of *row, f *fields, gone bool, nowMs int64) (string, *refusal) {
	if gone {
		return outcomeSkipped, nil
	}
	b := heartbeat{of.Sort, f.number(table.HeartbeatMs), nowMs}
	if b.writtenMs < 1 {
		f.refuse(ReasonMissing, "attribute %s is missing or less than 1", table.HeartbeatMs)
	}
	if f.wrong == nil {
		d.heartbeats = append(d.heartbeats, b)
	}
	return outcomeHeartbeat, f.wrong
}

// scanned adds to d what a row of the table says, and tells the outcome. A row that is not of the schema is left out: it was
// rejected when it was written.
func (x *decoder) scanned(d *batch, item table.Item, nowMs int64) string {
	f := fields{image: image{table: item}}
	of := rowOf(lease.PrimaryKey{Partition: f.text(table.PK), Sort: f.text(table.SK)})
	switch {
	case of.kind <= skippedRow, of.kind == heartbeatRow:
		return outcomeSkipped
	case f.text(table.WriterRegion) != x.region:
		return outcomeForeign
	}
	c := of.change(&f)
	c.Region, c.AtMs, c.Scanned = x.region, nowMs, true
	if f.wrong != nil || x.emit(d, c) != nil {
		return outcomeReject
	}
	return outcomeChange
}

// emit adds c to d, for the partition of its pool, or for all.
func (x *decoder) emit(d *batch, c *eventspb.LeaseChange) *refusal {
	value, err := proto.Marshal(c)
	switch {
	case err != nil:
		return &refusal{ReasonType, "a text is not UTF-8"}
	case len(value) > maxChange:
		return &refusal{ReasonSize, "the change has " + strconv.Itoa(len(value)) + " bytes, " + strconv.Itoa(maxChange) + " are allowed"}
	}
	if r := c.GetRegionRow(); r != nil {
		d.emit(output{events.LeaseChangesTopic, allPartitions, []byte(r.Region), value})
		return nil
	}
	d.emit(output{events.LeaseChangesTopic, events.LeaseShard(c.Client, c.Pool, x.partitions), poolKey(c.Client, c.Pool), value})
	return nil
}

// poolKey is the key of a pool's records.
func poolKey(client, pool string) []byte { return []byte(client + "\x00" + pool) }

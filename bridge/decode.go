package bridge

import (
	"strconv"

	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
	"github.com/weirhq/weir/stream"
)

// decoder turns stream records and scanned items into changes. It is immutable.
type decoder struct {
	region     string
	partitions int32
}

// streamPos is the position of a stream record.
type streamPos struct {
	shard, sequence string
	ms              int64 // when the record was written, by the stream's clock, Unix ms
}

// heartbeat is one write of a region's heartbeat row. Times are Unix ms.
type heartbeat struct {
	from              string // the region
	writtenMs, seenMs int64
}

// Outcomes of records, a closed set of metric labels.
const (
	outcomeChange    = "change"
	outcomeForeign   = "foreign" // written in another region, whose bridge emits it
	outcomeSkipped   = "skipped" // a row that no reader of lease.changes uses
	outcomeHeartbeat = "heartbeat"
	outcomeReject    = "reject"
)

func keysOf(r *streamtypes.Record) (p lease.PrimaryKey) {
	if r.Dynamodb != nil {
		_, p.Partition, _ = image{stream: r.Dynamodb.Keys}.attribute(table.PK)
		_, p.Sort, _ = image{stream: r.Dynamodb.Keys}.attribute(table.SK)
	}
	return p
}

// record adds the changes of a record to d. It returns the outcome, and the reason of a rejection.
func (x *decoder) record(d *batch, at streamPos, r *streamtypes.Record, nowMs int64) (outcome, reason string) {
	outcome, why := x.try(d, at, r, nowMs)
	if why != nil {
		x.reject(d, at, r, why)
		return outcomeReject, why.Reason
	}
	return outcome, ""
}

func (x *decoder) try(d *batch, at streamPos, r *streamtypes.Record, nowMs int64) (string, *stream.RejectError) {
	if r.Dynamodb == nil {
		return "", &stream.RejectError{Reason: ReasonImage, Detail: "the record has no data of an item"}
	}
	for _, name := range []string{table.PK, table.SK} {
		if k, s, _ := (image{stream: r.Dynamodb.Keys}).attribute(name); k != text || s == "" {
			return "", &stream.RejectError{
				Reason: ReasonKey, Detail: "the primary key is not two non-empty strings, " + table.PK + " and " + table.SK,
			}
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
		return "", &stream.RejectError{Reason: ReasonPartition, Detail: "the table's schema has no row with this primary key"}
	case of.kind == skippedRow:
		return outcomeSkipped, nil
	case now.empty():
		return "", &stream.RejectError{
			Reason: ReasonImage, Detail: "the record has no image of the item: set the view type of the stream to NEW_AND_OLD_IMAGES",
		}
	case of.kind == heartbeatRow:
		return x.heartbeat(d, &of, &now, gone, nowMs)
	}
	switch writer := now.text(table.WriterRegion); {
	case now.wrong != nil:
		return "", now.wrong
	case writer == "":
		return "", &stream.RejectError{
			Reason: ReasonWriter,
			Detail: "attribute " + table.WriterRegion + " is missing: it names the region whose stream has the change",
		}
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
			return "", &stream.RejectError{
				Reason: ReasonStale,
				Detail: "attribute version goes from " + strconv.FormatInt(before, 10) + " to " + strconv.FormatInt(versionOf(c), 10) +
					": each write must increase it",
			}
		}
	}
	if gone { // a deletion is a write after that of the version; the maximum guards the greatest number
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

func (x *decoder) heartbeat(d *batch, of *row, f *fields, gone bool, nowMs int64) (string, *stream.RejectError) {
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

// scanned adds the change of a scanned row to d and returns the outcome. A row that does not follow
// the schema adds nothing: it was rejected when it was written.
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

// emit adds c to d: to the partition of its pool, or to all partitions if it concerns a region.
func (x *decoder) emit(d *batch, c *eventspb.LeaseChange) *stream.RejectError {
	value, err := proto.Marshal(c)
	switch {
	case err != nil:
		return &stream.RejectError{Reason: ReasonType, Detail: "a string is not UTF-8"}
	case len(value) > maxChange:
		return &stream.RejectError{
			Reason: ReasonSize, Detail: "the change has " + strconv.Itoa(len(value)) + " bytes, the limit is " + strconv.Itoa(maxChange),
		}
	}
	if r := c.GetRegionRow(); r != nil {
		for p := range x.partitions {
			d.EmitTo(events.LeaseChangesTopic, p, stream.Message{Key: []byte(r.Region), Value: value})
		}
		return nil
	}
	d.EmitTo(events.LeaseChangesTopic, events.LeaseShard(c.Client, c.Pool, x.partitions),
		stream.Message{Key: poolKey(c.Client, c.Pool), Value: value})
	return nil
}

// poolKey is the record key of a pool.
func poolKey(client, pool string) []byte { return []byte(client + "\x00" + pool) }

package dynamotest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/stream"
	"github.com/weirhq/weir/dynamotest/internal/table"
	"github.com/weirhq/weir/dynamotest/internal/wire"
)

const (
	iteratorLife   = 15 * time.Minute
	maxRecords     = 1000
	maxRecordBytes = 1 << 20
)

// iterator is a position in a shard. Clients get it as an opaque string.
type iterator struct {
	Stream, Shard string
	After         uint64 // the last sequence number before the position
	Made          int64  // nanoseconds since 1970
}

func (it iterator) String() string {
	text, err := json.Marshal(it)
	if err != nil {
		return "" // strings and numbers always have a JSON form
	}
	sum := crc32.ChecksumIEEE(text)
	return it.Stream + "|1|" + base64.RawURLEncoding.EncodeToString(fmt.Appendf(text, "%08x", sum))
}

func parseIterator(s string) (it iterator, err error) {
	bad := wire.Invalid("Invalid ShardIterator.")
	text, err := base64.RawURLEncoding.DecodeString(s[strings.LastIndexByte(s, '|')+1:])
	if err != nil || len(text) < 8 {
		return it, bad
	}
	text, sum := text[:len(text)-8], text[len(text)-8:]
	if fmt.Sprintf("%08x", crc32.ChecksumIEEE(text)) != string(sum) || json.Unmarshal(text, &it) != nil {
		return it, bad
	}
	return it, nil
}

// shardOf returns the shard of a stream, or an error if it does not exist or has expired.
func (c *call) shardOf(arn, id string) (*liveStream, *stream.Shard, error) {
	s, err := c.streamOf(arn)
	if err != nil {
		return nil, nil, err
	}
	sh := s.Shard(id, c.cloud.now)
	if sh == nil {
		return nil, nil, &wire.Error{Code: wire.ResourceNotFound, Message: "Requested resource not found: Shard does not exist"}
	}
	return s, sh, nil
}

func trimmed() error {
	return &wire.Error{
		Code:    wire.TrimmedDataAccess,
		Message: "The operation attempted to read past the oldest stream record in a shard. You can use TRIM_HORIZON to read the oldest one that is kept.",
	}
}

// getShardIterator is the operation GetShardIterator.
func (c *call) getShardIterator() ([]byte, error) {
	var q struct{ StreamArn, ShardId, ShardIteratorType, SequenceNumber string } //nolint:revive // the protocol's names
	if err := c.decode(&q); err != nil {
		return nil, err
	}
	named := q.ShardIteratorType == "AT_SEQUENCE_NUMBER" || q.ShardIteratorType == "AFTER_SEQUENCE_NUMBER"
	seq, ok := parseSequence(q.SequenceNumber)
	switch {
	case q.ShardId == "":
		return nil, missing("shardId")
	case q.ShardIteratorType != "TRIM_HORIZON" && q.ShardIteratorType != "LATEST" && !named:
		return nil, wire.Invalid("1 validation error detected: Value '" + q.ShardIteratorType +
			"' at 'shardIteratorType' failed to satisfy constraint: Member must satisfy enum value set: [AFTER_SEQUENCE_NUMBER, LATEST, AT_SEQUENCE_NUMBER, TRIM_HORIZON]")
	case named && !ok:
		return nil, wire.Invalid("Invalid SequenceNumber: " + q.SequenceNumber)
	case !named && q.SequenceNumber != "":
		return nil, wire.Invalid("SequenceNumber can only be given with AT_SEQUENCE_NUMBER and AFTER_SEQUENCE_NUMBER")
	}
	it := iterator{Stream: q.StreamArn, Shard: q.ShardId}
	err := c.locked("", func() error {
		_, sh, err := c.shardOf(q.StreamArn, q.ShardId)
		if err != nil {
			return err
		}
		it.Made = c.cloud.now
		switch q.ShardIteratorType {
		case "TRIM_HORIZON":
			it.After = sh.Horizon(c.cloud.now)
		case "LATEST":
			it.After = sh.End()
		default:
			it.After, err = sh.Position(seq, q.ShardIteratorType == "AT_SEQUENCE_NUMBER", c.cloud.now)
		}
		switch {
		case errors.Is(err, stream.ErrTrimmed):
			return trimmed()
		case err != nil:
			return wire.Invalid("Invalid SequenceNumber: " + q.SequenceNumber + " is not one of the shard")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return encode(map[string]string{"ShardIterator": it.String()})
}

// getRecords is the operation GetRecords.
func (c *call) getRecords() ([]byte, error) {
	var q struct {
		ShardIterator string
		Limit         *int
	}
	if err := c.decode(&q); err != nil {
		return nil, err
	}
	limit := maxRecords
	if q.Limit != nil {
		if limit = *q.Limit; limit < 1 || limit > maxRecords {
			return nil, wire.Invalid("1 validation error detected: Value '" + strconv.Itoa(limit) +
				"' at 'limit' failed to satisfy constraint: Member must have value between 1 and 1000")
		}
	}
	it, err := parseIterator(q.ShardIterator)
	if err != nil {
		return nil, err
	}
	var a, list answer
	err = c.locked("", func() error {
		now := c.cloud.now
		if now-it.Made > int64(iteratorLife) {
			return &wire.Error{
				Code: wire.ExpiredIterator,
				Message: fmt.Sprintf(
					"Iterator expired. The iterator was created at time %s while right now it is %s which is further in the future than the tolerated delay of %d milliseconds.",
					time.Unix(0, it.Made).UTC().Format(time.UnixDate), time.Unix(0, now).UTC().Format(time.UnixDate),
					iteratorLife.Milliseconds()),
			}
		}
		s, sh, err := c.shardOf(it.Stream, it.Shard)
		if err != nil {
			return err
		}
		records, end, err := sh.Read(it.After, limit, now)
		if err != nil {
			return trimmed()
		}
		list.out = append(list.out, '[')
		for i, r := range records {
			if i > 0 && len(list.out) > maxRecordBytes {
				end = false
				break
			}
			if i > 0 {
				list.out = append(list.out, ',')
			}
			list.out = s.appendRecord(list.out, c.region.name, r)
			it.After = r.Seq
		}
		list.out = append(list.out, ']')
		it.Made = now
		a.out = append(a.member("Records"), list.out...)
		if !end {
			a.out = item.AppendText(a.member("NextShardIterator"), it.String())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return a.end(), nil
}

// appendRecord appends a record in DynamoDB's JSON.
func (s *liveStream) appendRecord(dst []byte, region string, r stream.Record) []byte {
	var outer, change answer
	change.out = strconv.AppendInt(change.member("ApproximateCreationDateTime"), r.At/int64(time.Second), 10)
	change.item("Keys", r.Keys)
	change.item("NewImage", r.New)
	change.item("OldImage", r.Old)
	change.out = item.AppendText(change.member("SequenceNumber"), sequence(r.Seq))
	change.out = strconv.AppendInt(change.member("SizeBytes"), int64(r.Keys.Size()+r.New.Size()+r.Old.Size()), 10)
	change.out = item.AppendText(change.member("StreamViewType"), s.view)
	outer.out = item.AppendText(outer.member("awsRegion"), region)
	outer.out = append(outer.member("dynamodb"), change.end()...)
	outer.out = item.AppendText(outer.member("eventID"), fmt.Sprintf("%032x", eventID(s.arn, r.Seq)))
	outer.out = item.AppendText(outer.member("eventName"), r.Event)
	outer.out = item.AppendText(outer.member("eventSource"), "aws:dynamodb")
	outer.out = item.AppendText(outer.member("eventVersion"), "1.1")
	return append(dst, outer.end()...)
}

// eventID returns the hash of a stream's ARN and a record's sequence number.
func eventID(arn string, seq uint64) uint64 {
	return table.HashOf(string(table.AppendPartition(nil, item.Str(arn+sequence(seq)))))
}

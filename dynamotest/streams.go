package dynamotest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/weirhq/weir/dynamotest/internal/stream"
	"github.com/weirhq/weir/dynamotest/internal/table"
	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// maxListed is the maximum number of streams or shards in one answer.
const maxListed = 100

// sequence returns a sequence number in DynamoDB's form: 21 digits.
func sequence(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	return "1" + strings.Repeat("0", 20-len(digits)) + digits
}

// parseSequence is the inverse of sequence.
func parseSequence(s string) (uint64, bool) {
	if len(s) != 21 || s[0] != '1' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[1:], 10, 64)
	return n, err == nil
}

// current returns the streams that can still be read.
func (r *Region) current() []*liveStream {
	r.streams = slices.DeleteFunc(r.streams, func(s *liveStream) bool { return s.Expired(r.cloud.now) })
	return r.streams
}

// streamOf returns the stream with that ARN, or an error if it does not exist or has expired.
func (c *call) streamOf(arn string) (*liveStream, error) {
	if arn == "" {
		return nil, missing("streamArn")
	}
	for _, s := range c.region.current() {
		if s.arn == arn {
			return s, nil
		}
	}
	return nil, &wire.Error{Code: wire.ResourceNotFound, Message: "Requested resource not found: Stream: " + arn + " not found"}
}

func checkListed(limit *int) (int, error) {
	if limit == nil {
		return maxListed, nil
	}
	if *limit < 1 || *limit > maxListed {
		return 0, wire.Invalid("1 validation error detected: Value '" + strconv.Itoa(*limit) +
			"' at 'limit' failed to satisfy constraint: Member must have value between 1 and 100")
	}
	return *limit, nil
}

// listStreams is the operation ListStreams.
func (c *call) listStreams() ([]byte, error) {
	var q struct {
		TableName, ExclusiveStartStreamArn string
		Limit                              *int
	}
	if err := c.decode(&q); err != nil {
		return nil, err
	}
	limit, err := checkListed(q.Limit)
	if err != nil {
		return nil, err
	}
	type one struct{ StreamArn, StreamLabel, TableName string }
	out := struct {
		Streams                []one
		LastEvaluatedStreamArn string `json:",omitempty"`
	}{Streams: []one{}}
	err = c.locked(q.TableName, func() error {
		for _, s := range c.region.current() {
			if q.TableName == "" || s.table == q.TableName {
				out.Streams = append(out.Streams, one{s.arn, s.label, s.table})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out.Streams, func(a, b one) int { return strings.Compare(a.StreamArn, b.StreamArn) })
	out.Streams = slices.DeleteFunc(out.Streams, func(s one) bool { return s.StreamArn <= q.ExclusiveStartStreamArn })
	if len(out.Streams) > limit {
		out.Streams = out.Streams[:limit]
		out.LastEvaluatedStreamArn = out.Streams[limit-1].StreamArn
	}
	return encode(out)
}

// streamDescription is a StreamDescription.
type streamDescription struct {
	StreamArn, StreamLabel, StreamStatus, StreamViewType, TableName string

	CreationRequestDateTime float64
	KeySchema               []table.KeyElement
	Shards                  []shardDescription
	LastEvaluatedShardId    string `json:",omitempty"` //nolint:revive // the protocol's name
}

type shardDescription struct {
	ShardId             string //nolint:revive // the protocol's name
	ParentShardId       string `json:",omitempty"` //nolint:revive // the protocol's name
	SequenceNumberRange sequenceRange
}

type sequenceRange struct {
	StartingSequenceNumber string
	EndingSequenceNumber   string `json:",omitempty"`
}

// describeStream is the operation DescribeStream.
func (c *call) describeStream() ([]byte, error) {
	var q struct {
		StreamArn, ExclusiveStartShardId string //nolint:revive // the protocol's name
		Limit                            *int
		ShardFilter                      *struct{ Type, ShardId string } //nolint:revive // the protocol's name
	}
	if err := c.decode(&q); err != nil {
		return nil, err
	}
	limit, err := checkListed(q.Limit)
	if err != nil {
		return nil, err
	}
	if f := q.ShardFilter; f != nil && (f.Type != "CHILD_SHARDS" || f.ShardId == "") {
		return nil, wire.Invalid("ShardFilter must have the Type CHILD_SHARDS and a ShardId")
	}
	var d streamDescription
	err = c.locked("", func() error {
		s, err := c.streamOf(q.StreamArn)
		if err != nil {
			return err
		}
		d = s.describe()
		for _, sh := range s.Shards(c.cloud.now) {
			if sh.ID > q.ExclusiveStartShardId && (q.ShardFilter == nil || sh.Parent == q.ShardFilter.ShardId) {
				d.Shards = append(d.Shards, describeShard(sh))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(d.Shards, func(a, b shardDescription) int { return strings.Compare(a.ShardId, b.ShardId) })
	if len(d.Shards) > limit {
		d.Shards = d.Shards[:limit]
		d.LastEvaluatedShardId = d.Shards[limit-1].ShardId
	}
	return encode(map[string]streamDescription{"StreamDescription": d})
}

func (s *liveStream) describe() streamDescription {
	d := streamDescription{
		StreamArn: s.arn, StreamLabel: s.label, StreamStatus: "ENABLED", StreamViewType: s.view, TableName: s.table,
		CreationRequestDateTime: seconds(s.began), KeySchema: s.schema, Shards: []shardDescription{},
	}
	if s.Ended() {
		d.StreamStatus = "DISABLED"
	}
	return d
}

func describeShard(sh *stream.Shard) shardDescription {
	d := shardDescription{
		ShardId: sh.ID, ParentShardId: sh.Parent, SequenceNumberRange: sequenceRange{StartingSequenceNumber: sequence(sh.First)},
	}
	if sh.Last != 0 {
		d.SequenceNumberRange.EndingSequenceNumber = sequence(sh.Last)
	}
	return d
}

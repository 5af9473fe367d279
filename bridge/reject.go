package bridge

import (
	"encoding/json"

	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// Reasons of LeaseReject, a closed set.
const (
	ReasonKey       = "bad_key"           // the primary key is not two strings
	ReasonPartition = "unknown_partition" // the schema has no row with this partition key
	ReasonImage     = "no_image"          // the stream holds keys only
	ReasonWriter    = "no_writer"         // writer_region is missing, so no region's bridge emits the change
	ReasonMissing   = "missing_attribute" // a required attribute is missing
	ReasonType      = "wrong_type"        // an attribute has another type
	ReasonNumber    = "bad_number"        // not a whole number of the required size
	ReasonVersion   = "bad_version"       // missing or less than 1
	ReasonStale     = "stale_version"     // not greater than before: the item was written by hand
	ReasonSize      = "oversized"         // the change exceeds the limit of a record
)

const (
	maxChange = 64 << 10 // bytes of a LeaseChange
	maxRecord = 64 << 10 // bytes of the stream record in a LeaseReject
)

// reject emits a LeaseReject for a record.
func (x *decoder) reject(d *batch, at streamPos, r *streamtypes.Record, why *stream.RejectError) {
	primary := keysOf(r)
	out := &eventspb.LeaseReject{
		Region: x.region, Shard: at.shard, Sequence: at.sequence, Reason: why.Reason, Detail: why.Detail,
		PartitionKey: primary.Partition, SortKey: primary.Sort, Record: recordText(r), AtMs: at.ms,
	}
	value, err := proto.Marshal(out)
	if err != nil { // a string is not UTF-8
		out.PartitionKey, out.SortKey, out.Detail, out.Record = "", "", "not UTF-8: "+why.Reason, ""
		value, _ = proto.Marshal(out)
	}
	key := primary.Partition + "\x00" + primary.Sort
	d.EmitTo(events.LeaseRejectedTopic, events.LeaseShard(primary.Partition, primary.Sort, x.partitions),
		stream.Message{Key: []byte(key), Value: value})
}

// recordText returns a record in the JSON of DynamoDB, truncated to maxRecord bytes.
func recordText(r *streamtypes.Record) string {
	out := map[string]any{"eventName": r.EventName, "eventID": r.EventID}
	if c := r.Dynamodb; c != nil {
		out["dynamodb"] = map[string]any{
			"Keys": imageJSON(c.Keys), "NewImage": imageJSON(c.NewImage), "OldImage": imageJSON(c.OldImage),
			"SequenceNumber": c.SequenceNumber,
		}
	}
	text, err := json.Marshal(out)
	if err != nil {
		return ""
	}
	return string(text[:min(len(text), maxRecord)])
}

func imageJSON(m map[string]streamtypes.AttributeValue) map[string]any {
	if m == nil {
		return nil
	}
	out := map[string]any{}
	for name, v := range m {
		out[name] = valueJSON(v)
	}
	return out
}

func valueJSON(v streamtypes.AttributeValue) any {
	switch v := v.(type) {
	case *streamtypes.AttributeValueMemberS:
		return map[string]any{"S": v.Value}
	case *streamtypes.AttributeValueMemberN:
		return map[string]any{"N": v.Value}
	case *streamtypes.AttributeValueMemberB:
		return map[string]any{"B": v.Value}
	case *streamtypes.AttributeValueMemberBOOL:
		return map[string]any{"BOOL": v.Value}
	case *streamtypes.AttributeValueMemberNULL:
		return map[string]any{"NULL": v.Value}
	case *streamtypes.AttributeValueMemberSS:
		return map[string]any{"SS": v.Value}
	case *streamtypes.AttributeValueMemberNS:
		return map[string]any{"NS": v.Value}
	case *streamtypes.AttributeValueMemberBS:
		return map[string]any{"BS": v.Value}
	case *streamtypes.AttributeValueMemberM:
		return map[string]any{"M": imageJSON(v.Value)}
	case *streamtypes.AttributeValueMemberL:
		list := make([]any, 0, len(v.Value))
		for _, e := range v.Value {
			list = append(list, valueJSON(e))
		}
		return map[string]any{"L": list}
	}
	return nil
}

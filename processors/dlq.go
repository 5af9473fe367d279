package processors

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/stream"
)

// Headers of a dead letter. Its value is the value of the rejected record. Its key is the origin of
// the record, "topic/partition/offset", so that a tombstone can resolve it. The key of the record
// is in a header.
const (
	HeaderTopic     = "weir-topic"
	HeaderPartition = "weir-partition"
	HeaderOffset    = "weir-offset"
	HeaderTimeMs    = "weir-time-ms"
	HeaderKey       = "weir-key"
	HeaderReason    = "weir-reason"
	HeaderDetail    = "weir-detail"
	HeaderApp       = "weir-app"
	// headerOriginal precedes the names of the rejected record's own headers.
	headerOriginal = "o."
)

// maxDeadLetter bounds the value of a dead letter, in bytes. A longer value, which only a well
// compressed batch can contain, is truncated. The record itself stays in the input topic until
// retention deletes it.
const maxDeadLetter = 1 << 20

// HeaderTruncated has the full length of a value that was truncated.
const HeaderTruncated = "weir-truncated"

// maxDetail bounds the text of the reason, with its stack, in bytes.
const maxDetail = 8 << 10

// deadLetter is a rejected record with its reason.
type deadLetter struct {
	topic  string
	rec    stream.Record
	reason string
	detail string
}

// deadLetterKey returns the key of a dead letter: the origin of the record.
func deadLetterKey(topic string, partition int32, offset int64) []byte {
	return fmt.Appendf(nil, "%s/%d/%d", topic, partition, offset)
}

// record returns the record of the dead-letter topic.
func (d *deadLetter) record(app, dlq string, p int32) *kgo.Record {
	detail := d.detail
	if len(detail) > maxDetail {
		detail = detail[:maxDetail]
	}
	h := []kgo.RecordHeader{
		{Key: HeaderApp, Value: []byte(app)},
		{Key: HeaderTopic, Value: []byte(d.topic)},
		{Key: HeaderPartition, Value: strconv.AppendInt(nil, int64(p), 10)},
		{Key: HeaderOffset, Value: strconv.AppendInt(nil, d.rec.Offset, 10)},
		{Key: HeaderTimeMs, Value: strconv.AppendInt(nil, d.rec.TimeMs, 10)},
		{Key: HeaderReason, Value: []byte(d.reason)},
		{Key: HeaderDetail, Value: []byte(detail)},
		{Key: HeaderKey, Value: d.rec.Key},
	}
	for _, o := range d.rec.Headers {
		h = append(h, kgo.RecordHeader{Key: headerOriginal + o.Key, Value: o.Value})
	}
	value := d.rec.Value
	if len(value) > maxDeadLetter {
		h = append(h, kgo.RecordHeader{Key: HeaderTruncated, Value: strconv.AppendInt(nil, int64(len(value)), 10)})
		value = value[:maxDeadLetter]
	}
	if value == nil { // a null value would be a tombstone
		value = []byte{}
		h = append(h, kgo.RecordHeader{Key: "weir-null-value", Value: binary.AppendUvarint(nil, 1)})
	}
	return &kgo.Record{Topic: dlq, Partition: p, Key: deadLetterKey(d.topic, p, d.rec.Offset), Value: value, Headers: h}
}

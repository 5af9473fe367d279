package processors

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/stream"
)

// Headers of a dead letter. Key and value of the refused record: the value as it was, the key in a header, because the
// letter's own key is its origin, by which a tombstone resolves it.
const (
	HeaderTopic     = "weir-topic"
	HeaderPartition = "weir-partition"
	HeaderOffset    = "weir-offset"
	HeaderTimeMs    = "weir-time-ms"
	HeaderKey       = "weir-key"
	HeaderReason    = "weir-reason"
	HeaderDetail    = "weir-detail"
	HeaderApp       = "weir-app"
	// headerOriginal precedes the names of the refused record's own headers.
	headerOriginal = "o."
)

// maxDeadLetter bounds the value of a letter. A longer one, which only a batch that was compressed hard can bring, is cut; the
// record itself is in the input topic for as long as that keeps it.
const maxDeadLetter = 1 << 20

// HeaderTruncated gives the full length of a value that was cut.
const HeaderTruncated = "weir-truncated"

// maxDetail bounds the reason's text, stack included.
const maxDetail = 8 << 10

type deadLetter struct {
	topic  string
	rec    stream.Record
	reason string
	detail string
}

// deadLetterKey names a refused record by where it came from.
func deadLetterKey(topic string, partition int32, offset int64) []byte {
	return fmt.Appendf(nil, "%s/%d/%d", topic, partition, offset)
}

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
	if value == nil { // a tombstone would resolve the letter
		value = []byte{}
		h = append(h, kgo.RecordHeader{Key: "weir-null-value", Value: binary.AppendUvarint(nil, 1)})
	}
	return &kgo.Record{Topic: dlq, Partition: p, Key: deadLetterKey(d.topic, p, d.rec.Offset), Value: value, Headers: h}
}

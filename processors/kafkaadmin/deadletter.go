package kafkaadmin

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/stream"
)

// Headers of dead letters that package processors writes and does not export.
const (
	headerNull     = "weir-null-value" // the record had no value, which differs from an empty one
	originalPrefix = "o."              // precedes the names of the record's own headers
)

// Headers that this package writes.
const (
	// HeaderReplayOf is on a replayed record: the origin of the rejected record.
	HeaderReplayOf = "weir-replay-of"
	// HeaderResolved is on a tombstone: "replayed" or "dropped".
	HeaderResolved = "weir-resolved"
	// HeaderBy and HeaderWhy are on a tombstone: who resolved the dead letter, and why.
	HeaderBy  = "weir-by"
	HeaderWhy = "weir-why"
)

// Origin is the position of a rejected record.
type Origin struct {
	Topic     string
	Partition int32
	Offset    int64
}

// String returns the origin as users write it and as the key of its dead letter:
// topic/partition/offset.
func (o Origin) String() string { return fmt.Sprintf("%s/%d/%d", o.Topic, o.Partition, o.Offset) }

// ParseOrigin parses topic/partition/offset.
func ParseOrigin(s string) (Origin, error) {
	parts := strings.Split(s, "/")
	if len(parts) == 3 && parts[0] != "" {
		p, errP := strconv.ParseInt(parts[1], 10, 32)
		at, errO := strconv.ParseInt(parts[2], 10, 64)
		if errP == nil && errO == nil && p >= 0 && at >= 0 {
			return Origin{parts[0], int32(p), at}, nil
		}
	}
	return Origin{}, fmt.Errorf("%q is not the origin of a dead letter: write topic/partition/offset", s)
}

// DeadLetter is a rejected record in a dead-letter topic.
type DeadLetter struct {
	Origin Origin
	App    string    // application that rejected the record
	Reason string    // of a closed set, such as "negative_price"
	Detail string    // explanation for operators
	Time   time.Time // timestamp of the record
	// Key, Value and Headers are those of the rejected record; nil means no key or no value.
	Key, Value []byte
	Headers    []stream.Header
	// Partition and Offset are the position in the dead-letter topic; RejectedAt is its timestamp
	// there.
	Partition  int32
	Offset     int64
	RejectedAt time.Time
	// Malformed is the reason why the record in the dead-letter topic cannot be decoded; nil for a
	// valid dead letter. A malformed one cannot be replayed, but it can be dropped.
	Malformed error

	key []byte // of the record in the dead-letter topic
	to  int32  // partition for the replayed record
}

// Name returns the origin, or the key of a malformed dead letter without one.
func (l *DeadLetter) Name() string {
	if l.Malformed != nil && l.Origin == (Origin{}) {
		return string(l.key)
	}
	return l.Origin.String()
}

// parseDeadLetter decodes a record of a dead-letter topic that is not a tombstone.
func parseDeadLetter(r *kgo.Record) DeadLetter {
	l := DeadLetter{Value: r.Value, Partition: r.Partition, Offset: r.Offset, RejectedAt: r.Timestamp, key: r.Key}
	var topic, partition, offset, timeMs string
	text := map[string]*string{
		processors.HeaderTopic: &topic, processors.HeaderPartition: &partition, processors.HeaderOffset: &offset,
		processors.HeaderTimeMs: &timeMs, processors.HeaderApp: &l.App, processors.HeaderReason: &l.Reason,
		processors.HeaderDetail: &l.Detail,
	}
	for _, h := range r.Headers {
		switch name, own := strings.CutPrefix(h.Key, originalPrefix); {
		case own:
			l.Headers = append(l.Headers, stream.Header{Key: name, Value: h.Value})
		case text[h.Key] != nil:
			*text[h.Key] = string(h.Value)
		case h.Key == processors.HeaderKey:
			l.Key = h.Value
		case h.Key == headerNull:
			l.Value = nil
		case h.Key == processors.HeaderTruncated:
			l.Malformed = fmt.Errorf("the value of %s bytes was truncated: produce the record again from %s if that topic still has it",
				h.Value, r.Key)
		}
	}
	ms, err := strconv.ParseInt(timeMs, 10, 64)
	if err != nil {
		l.Malformed = fmt.Errorf("header %s is %q and not a time in milliseconds", processors.HeaderTimeMs, timeMs)
	}
	l.Time = time.UnixMilli(ms)
	origin, err := ParseOrigin(topic + "/" + partition + "/" + offset)
	switch {
	case err != nil:
		l.Malformed = fmt.Errorf("headers %s, %s and %s hold no origin: %w", processors.HeaderTopic, processors.HeaderPartition,
			processors.HeaderOffset, err)
	case origin.String() != string(r.Key):
		l.Malformed = fmt.Errorf("the key %q differs from the origin %s in the headers", r.Key, origin)
	default:
		l.Origin = origin
	}
	return l
}

// replay returns the rejected record for the partition that route found.
func (l *DeadLetter) replay() *kgo.Record {
	r := &kgo.Record{Topic: l.Origin.Topic, Partition: l.to, Key: l.Key, Value: l.Value, Timestamp: l.Time}
	for _, h := range l.Headers {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
	}
	r.Headers = append(r.Headers, kgo.RecordHeader{Key: HeaderReplayOf, Value: []byte(l.Origin.String())})
	return r
}

// tombstone returns the record that resolves the dead letter.
func (l *DeadLetter) tombstone(topic, how string, o ResolveOptions) *kgo.Record {
	return &kgo.Record{Topic: topic, Partition: l.Partition, Key: l.key, Headers: []kgo.RecordHeader{
		{Key: HeaderResolved, Value: []byte(how)}, {Key: HeaderBy, Value: []byte(o.By)}, {Key: HeaderWhy, Value: []byte(o.Why)},
	}}
}

// size estimates the bytes of the dead letter in memory and in a request.
func (l *DeadLetter) size() int {
	n := 200 + len(l.key) + len(l.Key) + len(l.Value) + len(l.Detail)
	for _, h := range l.Headers {
		n += len(h.Key) + len(h.Value)
	}
	return n
}

// ErrNoDeadLetter means that the topic has no unresolved dead letter of an origin.
var ErrNoDeadLetter = errors.New("no such dead letter")

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

// Headers of letters that package processors writes and does not name for others.
const (
	headerNull     = "weir-null-value" // the record had no value, which is not an empty one
	originalPrefix = "o."              // precedes the names of the record's own headers
)

// Headers that are written here.
const (
	// HeaderReplayOf is on a replayed record: the origin it was refused at.
	HeaderReplayOf = "weir-replay-of"
	// HeaderResolved is on a tombstone: "replayed" or "dropped".
	HeaderResolved = "weir-resolved"
	// HeaderBy and HeaderWhy are on a tombstone: who resolved the letter, and why.
	HeaderBy  = "weir-by"
	HeaderWhy = "weir-why"
)

// Origin is where a refused record was.
type Origin struct {
	Topic     string
	Partition int32
	Offset    int64
}

// String is the origin as users write it, and as the key of its letter: topic/partition/offset.
func (o Origin) String() string { return fmt.Sprintf("%s/%d/%d", o.Topic, o.Partition, o.Offset) }

// ParseOrigin reads topic/partition/offset.
func ParseOrigin(s string) (Origin, error) {
	parts := strings.Split(s, "/")
	if len(parts) == 3 && parts[0] != "" {
		p, errP := strconv.ParseInt(parts[1], 10, 32)
		at, errO := strconv.ParseInt(parts[2], 10, 64)
		if errP == nil && errO == nil && p >= 0 && at >= 0 {
			return Origin{parts[0], int32(p), at}, nil
		}
	}
	return Origin{}, fmt.Errorf("%q is not the origin of a letter: write topic/partition/offset, as `weir dlq list` prints it", s)
}

// DeadLetter is a refused record in a dead-letter queue.
type DeadLetter struct {
	Origin Origin
	App    string    // application that refused it
	Reason string    // closed set, such as "negative_price"
	Detail string    // for a person
	Time   time.Time // the record's own
	// Key, Value and Headers are the record as it was; nil is no key or no value.
	Key, Value []byte
	Headers    []stream.Header
	// Partition and Offset are the letter's place in the queue, Refused its time.
	Partition int32
	Offset    int64
	Refused   time.Time
	// Malformed says why a record of the queue cannot be read as a letter; nil for a good one. Such a one cannot be
	// replayed; it can be dropped.
	Malformed error

	key []byte // of the record in the queue
}

// Name is the origin, or for a damaged letter the key that it has.
func (l *DeadLetter) Name() string {
	if l.Malformed != nil && l.Origin == (Origin{}) {
		return string(l.key)
	}
	return l.Origin.String()
}

// parseDeadLetter reads a record of a queue that is not a tombstone.
func parseDeadLetter(r *kgo.Record) DeadLetter {
	l := DeadLetter{Value: r.Value, Partition: r.Partition, Offset: r.Offset, Refused: r.Timestamp, key: r.Key}
	var topic, partition, offset, timeMs string
	text := map[string]*string{
		processors.HeaderTopic: &topic, processors.HeaderPartition: &partition, processors.HeaderOffset: &offset,
		processors.HeaderTimeMs: &timeMs, processors.HeaderApp: &l.App, processors.HeaderReason: &l.Reason, processors.HeaderDetail: &l.Detail,
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
			l.Malformed = fmt.Errorf("its value was cut, it had %s bytes: produce the record again from %s, if that topic still has it", h.Value, r.Key)
		}
	}
	ms, err := strconv.ParseInt(timeMs, 10, 64)
	if err != nil {
		l.Malformed = fmt.Errorf("header %s is %q, not a time in milliseconds", processors.HeaderTimeMs, timeMs)
	}
	l.Time = time.UnixMilli(ms)
	origin, err := ParseOrigin(topic + "/" + partition + "/" + offset)
	switch {
	case err != nil:
		l.Malformed = fmt.Errorf("headers %s, %s and %s say no origin: %w", processors.HeaderTopic, processors.HeaderPartition, processors.HeaderOffset, err)
	case origin.String() != string(r.Key):
		l.Malformed = fmt.Errorf("key %q and headers %s disagree about the origin", r.Key, origin)
	default:
		l.Origin = origin
	}
	return l
}

// replay is the record as it was, for its old place.
func (l *DeadLetter) replay() *kgo.Record {
	r := &kgo.Record{Topic: l.Origin.Topic, Partition: l.Origin.Partition, Key: l.Key, Value: l.Value, Timestamp: l.Time}
	for _, h := range l.Headers {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
	}
	r.Headers = append(r.Headers, kgo.RecordHeader{Key: HeaderReplayOf, Value: []byte(l.Origin.String())})
	return r
}

// tombstone resolves the letter.
func (l *DeadLetter) tombstone(queue, how string, o ResolveOptions) *kgo.Record {
	return &kgo.Record{Topic: queue, Partition: l.Partition, Key: l.key, Headers: []kgo.RecordHeader{
		{Key: HeaderResolved, Value: []byte(how)}, {Key: HeaderBy, Value: []byte(o.By)}, {Key: HeaderWhy, Value: []byte(o.Why)},
	}}
}

// size is about what the letter costs in memory and on the wire.
func (l *DeadLetter) size() int {
	n := 200 + len(l.key) + len(l.Key) + len(l.Value) + len(l.Detail)
	for _, h := range l.Headers {
		n += len(h.Key) + len(h.Value)
	}
	return n
}

// ErrNoDeadLetter says that the queue has no unresolved letter of that origin.
var ErrNoDeadLetter = errors.New("no such letter")

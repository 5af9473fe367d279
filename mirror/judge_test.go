//go:build synctests

package mirror

import (
	"bytes"
	"fmt"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/stream"
)

// judge compares the copies of one partition with the records of the peer's: each once, in order,
// with key, value, headers and timestamp, and with the place of the record and of the one before it
// in the origin header. It returns the first differences.
func judge(partition int32, source, copies []stream.Record) (wrong []string) {
	previous := int64(-1)
	for n := range max(len(source), len(copies)) {
		if n >= len(copies) {
			return append(wrong, fmt.Sprintf("partition %d: %d copies of %d records: offset %d is missing", partition, len(copies), len(source), source[n].Offset))
		}
		if n >= len(source) {
			return append(wrong, fmt.Sprintf("partition %d: %d copies of %d records", partition, len(copies), len(source)))
		}
		s, c := source[n], copies[n]
		last := len(c.Headers) - 1
		if last < 0 || c.Headers[last].Key != events.OriginHeader {
			return append(wrong, fmt.Sprintf("partition %d: copy %d has no origin as its last header", partition, n))
		}
		o, ok := events.ParseOrigin(c.Headers[last].Value)
		want := events.Origin{Topic: o.Topic, Partition: partition, Offset: s.Offset, Previous: previous}
		if !ok || o != want || o.Topic == [16]byte{} {
			return append(wrong, fmt.Sprintf("partition %d: copy %d is of %+v, want %+v", partition, n, o, want))
		}
		previous = s.Offset
		if !bytes.Equal(s.Key, c.Key) || !bytes.Equal(s.Value, c.Value) || s.TimeMs != c.TimeMs || (s.Key == nil) != (c.Key == nil) {
			wrong = append(wrong, fmt.Sprintf("partition %d: copy %d is %q: %q at %d, want %q: %q at %d", partition, n, c.Key, c.Value, c.TimeMs, s.Key, s.Value, s.TimeMs))
		}
		if fmt.Sprint(s.Headers) != fmt.Sprint(c.Headers[:last]) && (len(s.Headers) > 0 || last > 0) {
			wrong = append(wrong, fmt.Sprintf("partition %d: copy %d has headers %v, want %v", partition, n, c.Headers[:last], s.Headers))
		}
	}
	return wrong
}

// judgeLogs checks that copies of a partition, also those of a peer that has lost copied records,
// have increasing offsets in each log of their origins, and lack none. It returns the first copy
// that a reader would take for a repetition, or would find records lost before.
func judgeLogs(copies []stream.Record) (wrong []string) {
	next := map[[16]byte]int64{}
	for n, c := range copies {
		o, ok := events.ParseOrigin(c.Headers[len(c.Headers)-1].Value)
		after, known := next[o.Topic]
		if !ok || known && (o.Offset < after || o.Previous >= after) {
			return []string{fmt.Sprintf("copy %d is of %+v, and the last before it of offset %d", n, o, after-1)}
		}
		next[o.Topic] = o.Offset + 1
	}
	return nil
}

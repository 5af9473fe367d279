package spendcounter

import (
	"encoding/binary"

	"github.com/weirhq/weir/stream"
)

// OriginHeader is the header of a copied record with its OriginOffset.
const OriginHeader = "weir-origin"

// OriginOffset is the place of a copied record in the origin datacentre. Previous distinguishes a
// lost record from the offsets of a log that never had one that counts: those of the markers of
// transactions, of records of aborted transactions, and of records that compaction removed.
type OriginOffset struct {
	Partition int32
	Offset    int64
	Previous  int64 // offset of the record before it that a read_committed consumer sees; -1: none
}

// AppendOrigin appends the value of an OriginHeader, big endian: partition (4 bytes), offset and
// previous offset (8 bytes each).
func AppendOrigin(dst []byte, o OriginOffset) []byte {
	dst = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(dst, uint32(o.Partition)), uint64(o.Offset))
	return binary.BigEndian.AppendUint64(dst, uint64(o.Previous))
}

// ParseOrigin reads the value of an OriginHeader. ok is false if the value is malformed, or its
// numbers are impossible. A value of 12 bytes, without the previous offset, is of an earlier
// version: each offset before it counts as that of a record.
func ParseOrigin(value []byte) (o OriginOffset, ok bool) {
	if len(value) != 12 && len(value) != 20 {
		return OriginOffset{}, false
	}
	o.Partition = int32(binary.BigEndian.Uint32(value))
	o.Offset = int64(binary.BigEndian.Uint64(value[4:]))
	if o.Previous = o.Offset - 1; len(value) == 20 {
		o.Previous = int64(binary.BigEndian.Uint64(value[12:]))
	}
	return o, o.Partition >= 0 && o.Offset >= 0 && o.Offset+1 > 0 && o.Previous >= -1 && o.Previous < o.Offset
}

// originOf returns the value of the one origin header. Two headers are an error, because either may
// be wrong.
func originOf(headers []stream.Header) (o OriginOffset, ok bool) {
	for i := range headers {
		if headers[i].Key != OriginHeader {
			continue
		}
		if ok {
			return OriginOffset{}, false
		}
		if o, ok = ParseOrigin(headers[i].Value); !ok {
			return OriginOffset{}, false
		}
	}
	return o, ok
}

// applied is the position in one partition of an origin datacentre.
type applied struct {
	partition int32
	next      int64 // the next expected origin offset
}

// position returns the entry of partition, nil if none of its records was applied yet.
func position(list []applied, partition int32) *applied {
	for i := range list {
		if list[i].partition == partition {
			return &list[i]
		}
	}
	return nil
}

// isApplied reports whether the position is behind o: the record was applied or rejected before.
func isApplied(list []applied, o OriginOffset) bool {
	p := position(list, o.Partition)
	return p != nil && o.Offset < p.next
}

// advance records that the record at o was applied or rejected. It returns the list and the number
// of lost offsets: those from the position to the previous record. Offsets before the first record
// ever seen are not lost: a mirror may begin at any offset.
func advance(list []applied, o OriginOffset) ([]applied, uint64) {
	p := position(list, o.Partition)
	if p == nil {
		return append(list, applied{o.Partition, o.Offset + 1}), 0
	}
	lost := uint64(max(0, o.Previous+1-p.next))
	p.next = o.Offset + 1
	return list, lost
}

// rejectedCopy is a copied record that the record itself is the reason to reject.
type rejectedCopy struct {
	index  int // in Batch.Records
	origin OriginOffset
	refusal
}

// rejectCopies rejects the copied records before index end of b, in their place in the log: one
// that arrives again is a transport duplicate, and not rejected again.
func (c *Counter) rejectCopies(in *input, b *stream.Batch, end int) {
	list := c.rows.rejected
	for len(list) > 0 && list[0].index < end {
		x := &list[0]
		if isApplied(in.applied, x.origin) {
			c.origins[in.origin].transportDuplicates++
		} else {
			c.rejectCopy(in, x.origin)
			b.Reject(x.index, x.reason, x.detail)
		}
		list = list[1:]
	}
	c.rows.rejected = list
}

// rejectCopy advances the position past a rejected copy: it is not lost.
func (c *Counter) rejectCopy(in *input, at OriginOffset) {
	o, lost := &c.origins[in.origin], uint64(0)
	in.applied, lost = advance(in.applied, at)
	o.lost += lost
	o.rejected++
}

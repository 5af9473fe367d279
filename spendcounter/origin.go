package spendcounter

import (
	"encoding/binary"

	"github.com/weirhq/weir/stream"
)

// OriginHeader is the header of a copied record with its partition and offset in the origin
// datacentre.
const OriginHeader = "weir-origin"

// AppendOrigin appends the value of an OriginHeader: partition (4 bytes) and offset (8 bytes), big
// endian.
func AppendOrigin(dst []byte, partition int32, offset int64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(dst, uint32(partition)), uint64(offset))
}

// ParseOrigin splits the value of an OriginHeader. ok is false if the value is malformed or a
// number is negative.
func ParseOrigin(value []byte) (partition int32, offset int64, ok bool) {
	if len(value) != 12 {
		return 0, 0, false
	}
	partition = int32(binary.BigEndian.Uint32(value))
	offset = int64(binary.BigEndian.Uint64(value[4:]))
	return partition, offset, partition >= 0 && offset >= 0 && offset+1 > 0
}

// originOf returns the value of the one origin header. Two headers are an error, because either may
// be wrong.
func originOf(headers []stream.Header) (partition int32, offset int64, ok bool) {
	for i := range headers {
		if headers[i].Key != OriginHeader {
			continue
		}
		if ok {
			return 0, 0, false
		}
		if partition, offset, ok = ParseOrigin(headers[i].Value); !ok {
			return 0, 0, false
		}
	}
	return partition, offset, ok
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

// advance records that the record at offset was applied. It returns the list and the number of
// skipped offsets. Offsets before the first record ever seen are not lost: a mirror may begin at
// any offset.
func advance(list []applied, partition int32, offset int64) ([]applied, uint64) {
	p := position(list, partition)
	if p == nil {
		return append(list, applied{partition, offset + 1}), 0
	}
	lost := uint64(offset - p.next)
	p.next = offset + 1
	return list, lost
}

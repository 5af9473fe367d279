package events

import "encoding/binary"

// OriginHeader is the header of a copied record with its Origin.
const OriginHeader = "weir-origin"

// originBytes is the length of the value of an OriginHeader.
const originBytes = 16 + 4 + 8 + 8

// Origin is the place of a copied record in the datacentre that took it. Previous distinguishes a
// lost record from the offsets of a log that never had one that counts: those of the markers of
// transactions, of records of aborted transactions, and of records that compaction removed.
type Origin struct {
	// Topic is the id that the origin's brokers gave the topic. A topic that is created again has
	// another id, and its offsets begin at 0. After the brokers have lost copied records, the
	// copies have an id that the mirror has made, and their offsets begin where the lost records
	// were.
	Topic     [16]byte
	Partition int32
	Offset    int64
	Previous  int64 // offset of the record before it that a read_committed consumer sees; -1: none
}

// AppendOrigin appends the value of an OriginHeader, big endian: topic id (16 bytes), partition (4
// bytes), offset and previous offset (8 bytes each).
func AppendOrigin(dst []byte, o Origin) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, o.Topic[:]...), uint32(o.Partition))
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, uint64(o.Offset)), uint64(o.Previous))
}

// ParseOrigin reads the value of an OriginHeader. ok is false if the value is malformed, or its
// numbers are impossible.
func ParseOrigin(value []byte) (o Origin, ok bool) {
	if len(value) != originBytes {
		return Origin{}, false
	}
	rest := value[copy(o.Topic[:], value):]
	o.Partition = int32(binary.BigEndian.Uint32(rest))
	o.Offset = int64(binary.BigEndian.Uint64(rest[4:]))
	o.Previous = int64(binary.BigEndian.Uint64(rest[12:]))
	return o, o.Partition >= 0 && o.Offset >= 0 && o.Offset+1 > 0 && o.Previous >= -1 && o.Previous < o.Offset
}

package stream

// Partitioner returns the partition of a record by its key: a number from 0 to partitions-1, for
// any key. It gets no nil key, must always return the same partition for the same arguments, and
// may be called by several goroutines at once. Package program tries it with keys such as "key-7"
// before it starts.
type Partitioner func(key []byte, partitions int32) int32

// Murmur2 is the partitioner of Kafka's Java client for records with a key (its
// BuiltInPartitioner.partitionForKey): records of one key written by Java clients, Kafka Streams
// and a processor are in one partition.
func Murmur2(key []byte, partitions int32) int32 {
	return int32(murmur2(key)&0x7fffffff) % partitions
}

// murmur2 is org.apache.kafka.common.utils.Utils.murmur2.
func murmur2(b []byte) uint32 {
	const (
		seed uint32 = 0x9747b28c
		m    uint32 = 0x5bd1e995
		r           = 24
	)
	h := seed ^ uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		k := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
		k *= m
		k ^= k >> r
		h = h*m ^ k*m
	}
	switch len(b) {
	case 3:
		h ^= uint32(b[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(b[1]) << 8
		fallthrough
	case 1:
		h = (h ^ uint32(b[0])) * m
	}
	h ^= h >> 13
	h *= m
	return h ^ h>>15
}

package stream

import "testing"

// TestMurmur2 compares the hash with the values of Kafka's UtilsTest.testMurmur2, and the
// partitions with toPositive(murmur2(key)) % partitions of the Java client.
func TestMurmur2(t *testing.T) {
	for key, want := range map[string]int32{
		"21":                         -973932308,
		"foobar":                     -790332482,
		"a-little-bit-long-string":   -985981536,
		"a-little-bit-longer-string": -1486304829,
		"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
		"abc": 479470107,
	} {
		if got := int32(murmur2([]byte(key))); got != want {
			t.Errorf("murmur2(%q) = %d, Kafka has %d", key, got, want)
		}
		for _, n := range []int32{1, 2, 7, 24, 1000} {
			if got := Murmur2([]byte(key), n); got != (want&0x7fffffff)%n {
				t.Errorf("Murmur2(%q, %d) = %d", key, n, got)
			}
		}
	}
}

func TestPartitionOf(t *testing.T) {
	last := func([]byte, int32) int32 { return 3 }
	for _, x := range []struct {
		what             string
		to               Destination
		key              []byte
		task, partitions int32
		want             int32
	}{
		{"explicit", Destination{Output: &Output{Partitioner: last}, Partition: 1}, []byte("k"), 5, 4, 1},
		{"explicit, without a key", Destination{Output: &Output{}, Partition: 1}, nil, 5, 4, 1},
		{"by key", Destination{Output: &Output{}, Partition: ByPartitioner}, []byte("foobar"), 5, 4, Murmur2([]byte("foobar"), 4)},
		{"by the output's partitioner", Destination{Output: &Output{Partitioner: last}, Partition: ByPartitioner}, []byte("k"), 5, 4, 3},
		{"an empty key is a key", Destination{Output: &Output{Partitioner: last}, Partition: ByPartitioner}, []byte{}, 5, 4, 3},
		{"without a key", Destination{Output: &Output{Partitioner: last}, Partition: ByPartitioner}, nil, 5, 4, 1},
		{"without a key, more partitions", Destination{Output: &Output{}, Partition: ByPartitioner}, nil, 5, 9, 5},
	} {
		if got := x.to.PartitionOf(x.key, x.task, x.partitions); got != x.want {
			t.Errorf("%s: partition %d, want %d", x.what, got, x.want)
		}
	}
}

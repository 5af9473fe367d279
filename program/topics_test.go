package program

import (
	"strings"
	"testing"

	"github.com/weirhq/weir/stream"
)

// TestPartitioners: a partition that does not exist is an error with the processor, the output and
// the numbers. A partitioner that expects other keys is not.
func TestPartitioners(t *testing.T) {
	for what, x := range map[string]struct {
		partitioner stream.Partitioner
		want        string
	}{
		"default":     {nil, ""},
		"in range":    {stream.Murmur2, ""},
		"too great":   {func(key []byte, _ int32) int32 { return stream.Murmur2(key, 12) }, "processor app: the partitioner of output words chose partition "},
		"negative":    {func([]byte, int32) int32 { return -1 }, `chose partition -1 for key "key-0", and topic words has 8 partitions: return a number from 0 to partitions-1`},
		"longer keys": {func(key []byte, n int32) int32 { return int32(key[100]) % n }, ""},
	} {
		list := []stream.Processor{{App: "app", Outputs: []stream.Output{{Topic: "words", Partitioner: x.partitioner}}}}
		err := checkPartitioners(list, []stream.Topic{{Name: "words", Partitions: 8}})
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %s", what, err, x.want)
		}
	}
}

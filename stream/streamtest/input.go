package streamtest

import "github.com/weirhq/weir/stream"

// input is one partition of an input topic.
type input struct {
	topic     string
	records   []stream.Record
	next      int64 // offset of the next record to be folded
	committed int64 // next, as of the last commit
}

func (in *input) remaining() int { return len(in.records) - int(in.next) }

// take returns the next n records, or as many as there are.
func (in *input) take(n int) []stream.Record {
	n = max(0, min(n, in.remaining()))
	records := in.records[in.next : in.next+int64(n)]
	in.next += int64(n)
	return records
}

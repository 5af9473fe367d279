package spendcounter

import (
	"github.com/weirhq/weir/internal/idset"
	"github.com/weirhq/weir/spendcounter/spendpb"
)

// spans are two adjoining stretches of the inputs, told apart by offsets, so that what each of them held can be found
// again in the log.
type spans struct {
	number            uint64 // of the current one
	current, previous *spendpb.Mark
}

// due says whether a span has lasted for length ms at clock.
func (s *spans) due(clock, length int64) bool {
	return s.current.StartMs > 0 && clock-s.current.StartMs >= length
}

// begin begins a new span at mark.
func (s *spans) begin(mark *spendpb.Mark) {
	s.previous, s.current = s.current, mark
	s.number++
}

// start is the first offset of topic in a span, 0 if the topic joined later.
func start(m *spendpb.Mark, topic string) int64 {
	for _, t := range m.GetTopics() {
		if t.Topic == topic {
			return t.Next
		}
	}
	return 0
}

// window is the duplicate set: the ids of two generations, and where in the inputs these begin.
type window struct {
	spans
	set            idset.Set
	length         int64 // ms
	maxIDs         int   // ids in a generation
	earlyRotations uint64
	pending        [2][]uint64 // ids that the local table does not have: of the previous and of the current generation
	rotated        bool        // since the last flush: the local table holds ids to drop
	wipe           bool        // the local table holds nothing of ours
}

// room is how many new ids the current generation can take.
func (w *window) room() int {
	current, _ := w.set.Len()
	return w.maxIDs - current
}

// expired says whether an event at clock belongs to a new generation.
func (w *window) expired(clock int64) bool { return w.due(clock, w.length) }

// rotate begins a new generation at mark.
func (w *window) rotate(mark *spendpb.Mark) {
	if !w.expired(mark.StartMs) {
		w.earlyRotations++
	}
	w.begin(mark)
	w.set.Rotate()
	w.pending[0], w.pending[1] = w.pending[1], w.pending[0][:0]
	w.rotated = true
}

// insert notes the ids as seen.
func (w *window) insert(ids []uint64, seen []bool) {
	w.pending[1] = w.set.Insert(ids, seen, w.pending[1])
}

// mark is this place in the inputs: before the record at offset of in, at clock.
func (c *Counter) mark(in *input, offset, clock int64) *spendpb.Mark {
	in.next = offset
	m := c.currentMark()
	m.StartMs = clock
	return m
}

// currentMark is the place in the inputs that each of them stands at.
func (c *Counter) currentMark() *spendpb.Mark {
	m := &spendpb.Mark{}
	for i := range c.inputs {
		in := &c.inputs[i]
		m.Topics = append(m.Topics, &spendpb.TopicStart{Topic: in.topic, Next: in.next, Applied: appliedState(in.applied)})
	}
	return m
}

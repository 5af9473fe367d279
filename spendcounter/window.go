package spendcounter

import (
	"github.com/weirhq/weir/internal/idset"
	"github.com/weirhq/weir/spendcounter/spendpb"
)

// spans are two adjoining ranges of the inputs. They are recorded by offsets, so that their records
// can be found in the log again.
type spans struct {
	number            uint64 // of the current one
	current, previous *spendpb.Mark
}

// due reports whether the current span has lasted for length ms at clock.
func (s *spans) due(clock, length int64) bool {
	return s.current.StartMs > 0 && clock-s.current.StartMs >= length
}

// begin begins a new span at mark.
func (s *spans) begin(mark *spendpb.Mark) {
	s.previous, s.current = s.current, mark
	s.number++
}

// start returns the first offset of topic in a span, 0 if the topic was added later.
func start(m *spendpb.Mark, topic string) int64 {
	for _, t := range m.GetTopics() {
		if t.Topic == topic {
			return t.Next
		}
	}
	return 0
}

// window is the duplicate set: the ids of two generations, and the offsets at which the generations
// begin.
type window struct {
	spans
	set            idset.Set
	length         int64 // ms
	maxIDs         int   // ids in a generation
	earlyRotations uint64
	pending        [2][]uint64 // ids that the local table does not have: of the previous and of the current generation
	rotated        bool        // since the last flush: the local table has ids to delete
	clearLocal     bool        // the local table belongs to another state and has to be cleared
}

// room returns how many new ids the current generation can take.
func (w *window) room() int {
	current, _ := w.set.Len()
	return w.maxIDs - current
}

// expired reports whether an event at clock belongs to a new generation.
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

// insert adds ids, and sets seen for those that the set had.
func (w *window) insert(ids []uint64, seen []bool) {
	w.pending[1] = w.set.Insert(ids, seen, w.pending[1])
}

// mark returns the current place in the inputs: before the record at offset of in, at clock.
func (c *Counter) mark(in *input, offset, clock int64) *spendpb.Mark {
	in.next = offset
	m := c.currentMark()
	m.StartMs = clock
	return m
}

// currentMark returns the next offsets of all inputs.
func (c *Counter) currentMark() *spendpb.Mark {
	m := &spendpb.Mark{}
	for i := range c.inputs {
		in := &c.inputs[i]
		m.Topics = append(m.Topics, &spendpb.TopicStart{Topic: in.topic, Next: in.next, Applied: appliedState(in.applied)})
	}
	return m
}

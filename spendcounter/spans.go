package spendcounter

import "github.com/weirhq/weir/spendcounter/spendpb"

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

// oldest returns the older of two spans. At first there is only one.
func (s *spans) oldest() *spendpb.Mark {
	if s.previous != nil {
		return s.previous
	}
	return s.current
}

// start returns the first offset of topic after a mark, 0 if the topic was added later.
func start(m *spendpb.Mark, topic string) int64 {
	for _, t := range m.GetTopics() {
		if t.Topic == topic {
			return t.Next
		}
	}
	return 0
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
		t := &spendpb.TopicStart{Topic: in.topic, Next: in.next, Applied: appliedState(c.applied(in))}
		if !in.adjustments {
			t.WatermarkMs = c.origins[in.origin].watermarkMs
		}
		m.Topics = append(m.Topics, t)
	}
	return m
}

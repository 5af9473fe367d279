package processors

// bounds are where a replay begins and ends: offsets.
type bounds struct {
	from  Positions // of a task that never committed; its input's beginning, if there is none
	until Positions // not folded any more; a partition that is not there is not folded at all
}

// begin is where a task that never committed begins.
func (b *bounds) begin(topic string, p int32, start int64) int64 {
	if b == nil {
		return start
	}
	if at, ok := b.from[topic][p]; ok {
		return at
	}
	return start
}

// end is the first offset that is not folded.
func (b *bounds) end(topic string, p int32) int64 {
	if b == nil {
		return never
	}
	return b.until[topic][p]
}

// unread are the inputs of a task that are not at their end.
func (w *worker) unread(t *task) map[string][]int32 {
	m := map[string][]int32{}
	for _, topic := range w.proc.Inputs {
		if t.next[topic] < w.cfg.bounds.end(topic, t.p) {
			m[topic] = []int32{t.p}
		}
	}
	return m
}

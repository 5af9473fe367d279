package processors

// ReplayRange are where a replay begins and ends: offsets.
type ReplayRange struct {
	From  Positions // of a task that never committed; its input's beginning, if there is none
	Until Positions // not folded any more; a partition that is not there is not folded at all
}

// startOffset is where a task that never committed begins.
func (b *ReplayRange) startOffset(topic string, p int32, start int64) int64 {
	if b == nil {
		return start
	}
	if at, ok := b.From[topic][p]; ok {
		return at
	}
	return start
}

// endOffset is the first offset that is not folded.
func (b *ReplayRange) endOffset(topic string, p int32) int64 {
	if b == nil {
		return never
	}
	return b.Until[topic][p]
}

// unfinishedInputs are the inputs of a task that are not at their end.
func (w *worker) unfinishedInputs(t *task) map[string][]int32 {
	m := map[string][]int32{}
	for _, topic := range w.proc.Inputs {
		if t.next[topic] < w.cfg.Range.endOffset(topic, t.p) {
			m[topic] = []int32{t.p}
		}
	}
	return m
}

// Positions are next offsets by input topic and partition.
type Positions map[string]map[int32]int64

// Set sets the next offset of partition n of a topic.
func (p Positions) Set(topic string, n int32, next int64) {
	if p[topic] == nil {
		p[topic] = map[int32]int64{}
	}
	p[topic][n] = next
}

// Partition is the positions of one partition, by topic.
func (p Positions) Partition(n int32) map[string]int64 {
	out := map[string]int64{}
	for topic, at := range p {
		out[topic] = at[n]
	}
	return out
}

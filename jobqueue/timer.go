package jobqueue

// timer is the time at which to look at a job.
type timer struct {
	at int64 // Unix ms
	id ID
}

func (t timer) before(u timer) bool { return t.at < u.at || t.at == u.at && t.id < u.id }

// timers is a binary heap of timers. A timer is never removed early: Tick takes it and looks at the
// job. So a heartbeat does not move a timer.
type timers []timer

func (h *timers) push(t timer) {
	*h = append(*h, t)
	s := *h
	for i := len(s) - 1; i > 0; {
		up := (i - 1) / 2
		if !s[i].before(s[up]) {
			break
		}
		s[i], s[up] = s[up], s[i]
		i = up
	}
}

func (h *timers) pop() timer {
	s := *h
	t := s[0]
	s[0] = s[len(s)-1]
	*h = s[:len(s)-1]
	h.down(0)
	return t
}

func (h timers) down(i int) {
	for {
		low := i
		for _, c := range [2]int{2*i + 1, 2*i + 2} {
			if c < len(h) && h[c].before(h[low]) {
				low = c
			}
		}
		if low == i {
			return
		}
		h[i], h[low] = h[low], h[i]
		i = low
	}
}

// keep removes the timers for which ok returns false.
func (h *timers) keep(ok func(timer) bool) {
	s := (*h)[:0]
	for _, t := range *h {
		if ok(t) {
			s = append(s, t)
		}
	}
	*h = s
	for i := len(s)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

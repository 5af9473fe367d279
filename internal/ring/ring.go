package ring

import "math"

// Window is the length of a ring in milliseconds.
const Window = 60_000

// Ring counts events in a sliding window of 60 s. It takes 240 KB from the first event on. Its zero
// value is an empty ring.
type Ring struct {
	slots   []uint32      // slots[ms mod Window] is the counter of millisecond ms
	seconds [spans]uint64 // seconds[s mod spans] is the sum of the slots of second s in the window
	head    int64         // newest millisecond, 0 before the first
	sum     uint64        // of all slots
}

// spans is at least the number of seconds of which a part is in the window, 61. Their numbers
// modulo spans differ.
const spans = 64

// Head returns the newest millisecond in Unix time, 0 before the first Add or Advance.
func (r *Ring) Head() int64 { return r.head }

// Sum returns the number of events in the window that ends at Head.
func (r *Ring) Sum() uint64 { return r.sum }

// Add counts n events at millisecond ms in Unix time, which is positive. If ms is before the
// window, Add counts nothing and returns false. A counter saturates at its greatest value.
func (r *Ring) Add(ms int64, n uint32) bool {
	if ms > r.head {
		r.Advance(ms)
	} else if ms <= r.head-Window || ms <= 0 {
		return false
	}
	if r.slots == nil {
		r.slots = make([]uint32, Window)
	}
	s := &r.slots[ms%Window]
	n = min(n, math.MaxUint32-*s)
	*s += n
	r.seconds[ms/1000%spans] += uint64(n)
	r.sum += uint64(n)
	return true
}

// Advance moves the head to ms and clears the counters that leave the window. It does nothing if ms
// is not after the head.
func (r *Ring) Advance(ms int64) {
	d := ms - r.head
	if d <= 0 {
		return
	}
	if r.head == 0 || d >= Window {
		r.clear()
	} else {
		r.drop(r.head-Window+1, ms-Window)
	}
	r.head = ms
}

// Reset empties the ring and sets its head. The head may go back.
func (r *Ring) Reset(head int64) {
	r.clear()
	r.head = head
}

func (r *Ring) clear() {
	if r.sum != 0 {
		clear(r.slots)
		r.seconds, r.sum = [spans]uint64{}, 0
	}
}

// drop clears the counters of milliseconds [from, to]. They are those that leave the window, so a
// second that ends by then has no events in the window any more.
func (r *Ring) drop(from, to int64) {
	for from = max(from, 0); from <= to && r.sum > 0; {
		end := min(to, from-from%1000+999)
		second := &r.seconds[from/1000%spans]
		if *second > 0 {
			slots := r.slots[from%Window : end%Window+1] // a second does not cross the end of slots
			n := total(slots)
			*second -= n
			r.sum -= n
			clear(slots)
		}
		from = end + 1
	}
}

func total(slots []uint32) (n uint64) {
	for _, s := range slots {
		n += uint64(s)
	}
	return n
}

// SumAfter returns the number of events in the window after ms. It reads the ring as of a later
// time without moving the head.
func (r *Ring) SumAfter(ms int64) uint64 {
	switch {
	case ms >= r.head || r.sum == 0:
		return 0
	case ms <= r.head-Window:
		return r.sum
	}
	from := max(ms+1, 0)
	n := uint64(0)
	if second := from / 1000; r.seconds[second%spans] > 0 {
		n = total(r.slots[from%Window : min(r.head, second*1000+999)%Window+1])
	}
	for second := from/1000 + 1; second <= r.head/1000; second++ {
		n += r.seconds[second%spans]
	}
	return n
}

// Seconds appends the number of events of each second of Unix time to dst, newest second first,
// without trailing zeros. The numbers add up to Sum.
func (r *Ring) Seconds(dst []uint64) []uint64 {
	left := r.sum
	for second := r.head / 1000; left > 0; second-- {
		n := r.seconds[second%spans]
		left -= n
		dst = append(dst, n)
	}
	return dst
}

// Restore fills the ring with the numbers that Seconds returned at head. It counts the events of a
// second at its end, so that they leave the window up to a second late and never early.
func (r *Ring) Restore(head int64, seconds []uint64) {
	r.Reset(head)
	for i, n := range seconds {
		sec := head/1000 - int64(i)
		at := min(sec*1000+999, head)
		for n > 0 && at > head-Window && at >= sec*1000 {
			c := min(n, math.MaxUint32)
			r.Add(at, uint32(c))
			n -= c
			at--
		}
	}
}

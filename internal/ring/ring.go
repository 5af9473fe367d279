package ring

import "math"

// Window is the length of a ring in milliseconds.
const Window = 60_000

// Ring counts events in a sliding window of 60 s. It takes 240 KB from the first event on. Its zero
// value is an empty ring.
type Ring struct {
	slots []uint32 // slots[ms mod Window] is the counter of millisecond ms
	head  int64    // newest millisecond, 0 before the first
	sum   uint64   // of all slots
}

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
		from, to := (r.head+1)%Window, ms%Window+1
		if from < to {
			r.drop(from, to)
		} else {
			r.drop(from, Window)
			r.drop(0, to)
		}
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
		r.sum = 0
	}
}

// drop clears slots[from:to].
func (r *Ring) drop(from, to int64) {
	if r.sum == 0 {
		return // all counters are 0
	}
	for _, n := range r.slots[from:to] {
		r.sum -= uint64(n)
	}
	clear(r.slots[from:to])
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
	var n uint64
	for t := ms + 1; t <= r.head; t++ {
		if t > 0 {
			n += uint64(r.slots[t%Window])
		}
	}
	return n
}

// Seconds appends the number of events of each second of Unix time to dst, newest second first,
// without trailing zeros. The numbers add up to Sum.
func (r *Ring) Seconds(dst []uint64) []uint64 {
	base := len(dst)
	left := r.sum
	for sec := r.head / 1000; left > 0 && sec >= 0; sec-- {
		var n uint64
		for ms := max(sec*1000, r.head-Window+1); ms <= min(sec*1000+999, r.head); ms++ {
			n += uint64(r.slots[ms%Window])
		}
		left -= n
		dst = append(dst, n)
		if len(dst)-base > Window/1000 {
			break
		}
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

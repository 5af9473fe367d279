package ring

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// mapRing is the simple reference: a map that keeps all events.
type mapRing struct {
	at   map[int64]uint64
	head int64
}

func (d *mapRing) sumAfter(ms int64) uint64 {
	var n uint64
	for t, c := range d.at {
		if t > d.head-Window && t > ms && t <= d.head {
			n += c
		}
	}
	return n
}

func (d *mapRing) add(ms int64, n uint32) bool {
	d.head = max(d.head, ms)
	if ms <= d.head-Window || ms <= 0 {
		return false
	}
	d.at[ms] += uint64(n)
	return true
}

func TestRingAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, d := new(Ring), &mapRing{at: map[int64]uint64{}}
		now := rapid.Int64Range(1, 200_000).Draw(t, "start")
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			step := rapid.SampledFrom([]int64{
				0, 1, 2, 999, 1000, 1001, 30_000, 59_999, 60_000, 60_001, 200_000,
				-1, -1000, -59_999, -60_000, -70_000,
			}).Draw(t, "step")
			ms := max(1, now+step)
			if rapid.Bool().Draw(t, "add") {
				n := rapid.Uint32Range(0, 1000).Draw(t, "n")
				if got, want := r.Add(ms, n), d.add(ms, n); got != want {
					t.Fatalf("Add(%d) with head %d = %v, want %v", ms, d.head, got, want)
				}
			} else {
				r.Advance(ms)
				d.head = max(d.head, ms)
			}
			now = max(now, ms)
			if r.Sum() != d.sumAfter(math.MinInt64) || r.Head() != d.head {
				t.Fatalf("sum %d head %d, want %d %d", r.Sum(), r.Head(), d.sumAfter(math.MinInt64), d.head)
			}
			cut := now + rapid.Int64Range(-61_000, 100).Draw(t, "cut")
			if got, want := r.SumAfter(cut), d.sumAfter(cut); got != want {
				t.Fatalf("SumAfter(%d) = %d, want %d", cut, got, want)
			}
			checkSeconds(t, r, d)
		}
	})
}

// checkSeconds compares the numbers per second with those of the map, and restores a ring from
// them.
func checkSeconds(t *rapid.T, r *Ring, d *mapRing) {
	secs := r.Seconds(nil)
	var total uint64
	for i, n := range secs {
		sec, want := d.head/1000-int64(i), uint64(0)
		for ms, c := range d.at {
			if ms/1000 == sec && ms > d.head-Window && ms <= d.head {
				want += c
			}
		}
		if n != want {
			t.Fatalf("second %d has %d, want %d", sec, n, want)
		}
		total += n
	}
	if total != r.Sum() {
		t.Fatalf("the seconds add up to %d, the ring to %d", total, r.Sum())
	}
	back := new(Ring)
	back.Restore(r.Head(), secs)
	if back.Sum() != r.Sum() || back.Head() != r.Head() {
		t.Fatalf("restored %d at %d, want %d at %d", back.Sum(), back.Head(), r.Sum(), r.Head())
	}
	for _, later := range []int64{500, 5_000, 58_000} {
		early, late := r.SumAfter(r.Head()+later-Window), back.SumAfter(r.Head()+later-Window)
		if late < early || late > r.SumAfter(r.Head()+later-1000-Window) {
			t.Fatalf("%d ms later: the restored ring has %d, the ring %d", later, late, early)
		}
	}
}

func TestCounterSaturates(t *testing.T) {
	r := new(Ring)
	r.Add(5, math.MaxUint32)
	if !r.Add(5, 7) || r.Sum() != math.MaxUint32 {
		t.Fatalf("sum %d, want %d", r.Sum(), uint64(math.MaxUint32))
	}
	r.Add(6, 3)
	if got := r.Sum(); got != math.MaxUint32+3 {
		t.Fatalf("sum %d after the next millisecond", got)
	}
}

func BenchmarkAdd(b *testing.B) {
	r := new(Ring)
	ms := int64(1)
	for b.Loop() {
		r.Add(ms, 1)
		ms++
	}
}

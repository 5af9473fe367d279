package jobqueue

import "math/bits"

// vector is a plain bit vector. Positions after its end are 0.
type vector []uint64

func (v vector) has(n uint32) bool { return int(n>>6) < len(v) && v[n>>6]>>(n&63)&1 != 0 }

func (v *vector) set(n uint32) {
	for int(n>>6) >= len(*v) {
		*v = append(*v, 0)
	}
	(*v)[n>>6] |= 1 << (n & 63)
}

// clear clears a bit. It trims zero words from the end.
func (v *vector) clear(n uint32) {
	s := *v
	if int(n>>6) >= len(s) {
		return
	}
	s[n>>6] &^= 1 << (n & 63)
	for len(s) > 0 && s[len(s)-1] == 0 {
		s = s[:len(s)-1]
	}
	*v = s
}

// without clears a bit of v and returns v, or nil if v has no other bit: it frees the memory.
func (v vector) without(n uint32) vector {
	if v.clear(n); len(v) == 0 {
		return nil
	}
	return v
}

func (v vector) word(i int) uint64 {
	if i < len(v) {
		return v[i]
	}
	return 0
}

// or sets the bits of w in v.
func (v *vector) or(w vector) {
	for len(*v) < len(w) {
		*v = append(*v, 0)
	}
	for i, x := range w {
		(*v)[i] |= x
	}
}

// each calls f for each position of v in ascending order.
func (v vector) each(f func(n uint32)) {
	for i, w := range v {
		for ; w != 0; w &= w - 1 {
			f(uint32(i<<6 | bits.TrailingZeros64(w)))
		}
	}
}

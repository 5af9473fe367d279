package spendcounter

import "math/bits"

// keyFilter is a set of keys that may report a key which was never added: a Bloom filter in which
// all bits of a key are in one word, so that a look costs one access of memory for each part
// (Putze, Sanders, Singler: Cache-, Hash- and Space-Efficient Bloom Filters, 2007). It grows by
// parts, each four times as large as the one before.
type keyFilter struct {
	parts [][]uint64
	room  int // keys that the last part still takes
}

// A word of 64 bits takes wordKeys keys of wordBits bits each. Each part reports about one of 250
// keys that were never added.
const (
	wordKeys   = 4
	wordBits   = 5
	firstWords = 256
)

// add adds a key by its hash.
func (f *keyFilter) add(hash uint64) {
	if f.room == 0 {
		words := firstWords << (2 * len(f.parts))
		f.parts = append(f.parts, make([]uint64, words))
		f.room = words * wordKeys
	}
	f.room--
	at, mask := place(hash, f.parts[len(f.parts)-1])
	f.parts[len(f.parts)-1][at] |= mask
}

// has reports whether a key with this hash may have been added.
func (f *keyFilter) has(hash uint64) bool {
	for i := len(f.parts) - 1; i >= 0; i-- { // the largest first
		if at, mask := place(hash, f.parts[i]); f.parts[i][at]&mask == mask {
			return true
		}
	}
	return false
}

// size returns the memory of the filter in bytes.
func (f *keyFilter) size() (n int) {
	for _, p := range f.parts {
		n += 8 * len(p)
	}
	return n
}

// place returns the word of a key in a part, and the bits of the key in it.
func place(hash uint64, part []uint64) (at uint64, mask uint64) {
	at, rest := bits.Mul64(hash, uint64(len(part)))
	for range wordBits {
		mask |= 1 << (rest >> 58)
		rest <<= 6
	}
	return at, mask
}

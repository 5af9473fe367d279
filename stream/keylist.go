package stream

import "slices"

// keyList is a sorted list of distinct keys that is cheap to insert into: it is cut into chunks.
type keyList struct{ chunks [][]string }

const keyChunk = 512

// chunk returns the index of the chunk in which k is or belongs.
func (l *keyList) chunk(k string) int {
	i, _ := slices.BinarySearchFunc(l.chunks, k, func(c []string, k string) int {
		if c[len(c)-1] < k {
			return -1
		}
		return 1
	})
	return min(i, len(l.chunks)-1)
}

// insert adds k, which is not in the list.
func (l *keyList) insert(k string) {
	if len(l.chunks) == 0 {
		l.chunks = append(l.chunks, []string{k})
		return
	}
	i := l.chunk(k)
	at, _ := slices.BinarySearch(l.chunks[i], k)
	c := slices.Insert(l.chunks[i], at, k)
	if l.chunks[i] = c; len(c) < keyChunk {
		return
	}
	half := len(c) / 2
	l.chunks = slices.Insert(l.chunks, i+1, slices.Clone(c[half:]))
	l.chunks[i] = slices.Clip(c[:half])
}

// from returns the first key at or after k.
func (l *keyList) from(k string) (key string, ok bool) {
	if len(l.chunks) == 0 {
		return "", false
	}
	c := l.chunks[l.chunk(k)]
	if at, _ := slices.BinarySearch(c, k); at < len(c) {
		return c[at], true
	}
	return "", false
}

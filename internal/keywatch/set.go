package keywatch

import (
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Set is the watches of one partition. The zero value is empty.
type Set struct {
	n atomic.Int32 // watches

	mu     sync.Mutex
	list   []*watched // ordered by prefix, without duplicates; empty once closed
	closed bool
}

// watched is a prefix and the watches that have it.
type watched struct {
	prefix string
	chans  []chan struct{}
}

// Add registers a watch of the keys that begin with prefix. stop removes it, and may be called
// repeatedly and after Close. ok is false if the Set is closed.
func (s *Set) Add(prefix []byte) (changed <-chan struct{}, stop func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, false
	}
	i, found := s.find(string(prefix))
	if !found {
		s.list = slices.Insert(s.list, i, &watched{prefix: string(prefix)})
	}
	ch := make(chan struct{}, 1)
	w := s.list[i]
	w.chans = append(w.chans, ch)
	s.n.Add(1)
	return ch, func() { s.remove(w, ch) }, true
}

func (s *Set) find(prefix string) (int, bool) {
	return slices.BinarySearchFunc(s.list, prefix, func(w *watched, p string) int { return strings.Compare(w.prefix, p) })
}

func (s *Set) remove(w *watched, ch chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.Index(w.chans, ch)
	if s.closed || at < 0 {
		return
	}
	s.n.Add(-1)
	if w.chans = slices.Delete(w.chans, at, at+1); len(w.chans) == 0 {
		i, _ := s.find(w.prefix)
		s.list = slices.Delete(s.list, i, i+1)
	}
}

// Empty reports whether there is no watch.
func (s *Set) Empty() bool { return s.n.Load() == 0 }

// Changed wakes the watches of the keys.
func (s *Set) Changed(keys iter.Seq[[]byte]) {
	if s.Empty() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range keys {
		s.wake(key)
	}
}

// wake wakes the watches whose prefix the key has. These prefixes, and only these, are ordered one
// after another from the greatest prefix that is not behind the key: each is a prefix of the next.
// Where another one is between, they are prefixes of what it has in common with the key.
func (s *Set) wake(key []byte) {
	for list := s.list; ; {
		n := countUpTo(list, key)
		if n == 0 {
			return
		}
		w := list[n-1]
		if common := commonLen(w.prefix, key); common < len(w.prefix) {
			key = key[:common]
		} else {
			w.wake()
		}
		list = list[:n-1]
	}
}

// countUpTo returns the number of prefixes that are not behind key.
func countUpTo(list []*watched, key []byte) int {
	from, to := 0, len(list)
	for from < to {
		if mid := (from + to) / 2; list[mid].prefix <= string(key) { // the conversion does not allocate
			from = mid + 1
		} else {
			to = mid
		}
	}
	return from
}

func commonLen(a string, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func (w *watched) wake() {
	for _, ch := range w.chans {
		select {
		case ch <- struct{}{}:
		default: // it has one already
		}
	}
}

// WakeAll wakes all watches.
func (s *Set) WakeAll() {
	if s.Empty() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.list {
		w.wake()
	}
}

// Close closes the channels of all watches, and refuses further ones. It can be called repeatedly.
func (s *Set) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	s.n.Store(0)
	for _, w := range s.list {
		for _, ch := range w.chans {
			close(ch)
		}
	}
	s.list = nil
}

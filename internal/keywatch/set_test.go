package keywatch

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// woken reports whether the channel has a wake-up, and takes it.
func woken(ch <-chan struct{}) bool {
	select {
	case _, open := <-ch:
		return open
	default:
		return false
	}
}

// TestAgainstAllPrefixes compares the set with a comparison of each key with each prefix, over
// short keys of two letters, so that most prefixes are nested.
func TestAgainstAllPrefixes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	random := func() []byte {
		b := make([]byte, rng.IntN(7))
		for i := range b {
			b[i] = "ab"[rng.IntN(2)]
		}
		return b
	}
	type watch struct {
		prefix []byte
		ch     <-chan struct{}
		stop   func()
	}
	for range 300 {
		s := &Set{}
		var list []watch
		for range 30 {
			switch rng.IntN(3) {
			case 0:
				if len(list) > 0 {
					i := rng.IntN(len(list))
					list[i].stop()
					list[i].stop() // again
					list = slices.Delete(list, i, i+1)
				}
			default:
				w := watch{prefix: random()}
				w.ch, w.stop, _ = s.Add(w.prefix)
				list = append(list, w)
			}
			if s.Empty() != (len(list) == 0) {
				t.Fatalf("empty %v with %d watches", s.Empty(), len(list))
			}
			keys := [][]byte{random(), random()}
			s.Changed(slices.Values(keys))
			for _, w := range list {
				want := bytes.HasPrefix(keys[0], w.prefix) || bytes.HasPrefix(keys[1], w.prefix)
				if got := woken(w.ch); got != want {
					t.Fatalf("keys %q, prefix %q: woken %v", keys, w.prefix, got)
				}
				if woken(w.ch) {
					t.Fatalf("keys %q, prefix %q: woken twice", keys, w.prefix)
				}
			}
		}
	}
}

func TestClose(t *testing.T) {
	s := &Set{}
	s.WakeAll()
	a, stop, _ := s.Add([]byte("a"))
	b, _, _ := s.Add(nil)
	if s.WakeAll(); !woken(a) || !woken(b) {
		t.Error("not all are woken")
	}
	s.Close()
	s.Close()
	stop()
	s.WakeAll()
	s.Changed(slices.Values([][]byte{{'a'}}))
	for _, ch := range []<-chan struct{}{a, b} {
		if _, open := <-ch; open {
			t.Error("woken by Close")
		}
	}
	if _, _, ok := s.Add([]byte("a")); ok || !s.Empty() {
		t.Error("a closed set has a watch")
	}
}

// TestConcurrent is for the race detector: each receiver adds, waits for its own key, and stops.
func TestConcurrent(t *testing.T) {
	s := &Set{}
	var receivers, sender sync.WaitGroup
	end := make(chan struct{})
	sender.Go(func() {
		for {
			select {
			case <-end:
				return
			default:
				s.Changed(slices.Values([][]byte{[]byte("key 0"), []byte("key 1"), []byte("key 2")}))
			}
		}
	})
	for i := range 3 {
		receivers.Go(func() {
			for range 100 {
				ch, stop, _ := s.Add(fmt.Append(nil, "key ", i))
				<-ch
				stop()
			}
		})
	}
	receivers.Wait()
	close(end)
	sender.Wait()
	if !s.Empty() {
		t.Error("a watch remains")
	}
}

// BenchmarkChanged is what a commit of 1,000 keys costs, by the number of watches.
func BenchmarkChanged(b *testing.B) {
	var keys [][]byte
	for i := range 1000 {
		keys = append(keys, fmt.Appendf(nil, "\x01account-%03d\x00campaign-%04d\x00day", i%100, i))
	}
	for _, n := range []int{0, 1, 1000} {
		b.Run(fmt.Sprint("watches=", n), func(b *testing.B) {
			s := &Set{}
			for i := range n {
				s.Add(fmt.Appendf(nil, "\x01account-%03d\x00campaign-%04d\x00", i%100, i+5000))
			}
			for b.Loop() {
				s.Changed(slices.Values(keys))
			}
		})
	}
}

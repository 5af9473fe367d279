package main

import (
	"testing"
	"time"
)

// TestProgress: a system that needs 10 s to start, copies a quarter slowly, and then 100 records
// per second, has that rate, whatever share of its offsets are markers, and however long it is
// watched after its end.
func TestProgress(t *testing.T) {
	for _, markers := range []int64{0, 1} { // for each ten records
		start := time.Unix(1000, 0)
		p := &progress{started: start}
		at := func(second float64) time.Time { return start.Add(time.Duration(second * float64(time.Second))) }
		sum := func(records int64) int64 { return records + records/10*markers }
		if p.last() != start || p.rate(1000) != 0 {
			t.Errorf("before a sighting: last growth %s, rate %v", p.last(), p.rate(1000))
		}
		p.add(at(1), 0)
		p.add(at(10), 0)
		p.add(at(20), sum(100))
		p.add(at(30), sum(250))
		for i := range 200 {
			p.add(at(30+float64(i)*0.05), sum(250+int64(i)*5))
			if 250+i*5 >= 1000 {
				break
			}
		}
		end := p.last()
		p.add(at(100), sum(1000))
		if p.last() != end || end != at(37.5) {
			t.Errorf("last growth at %s, want %s", p.last(), at(37.5))
		}
		if got := p.rate(1000); got < 99 || got > 101 {
			t.Errorf("rate %v, want 100", got)
		}
	}
	p := &progress{}
	p.add(time.Unix(1, 0), 1000)
	if got := p.rate(1000); got != 0 {
		t.Errorf("rate %v of copies that appeared at once", got)
	}
}

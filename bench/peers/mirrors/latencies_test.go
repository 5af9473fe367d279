package main

import (
	"testing"
	"time"
)

func TestLatencies(t *testing.T) {
	var l latencies
	if got := l.quantile(0.5); got != 0 {
		t.Errorf("without a record the median is %v", got)
	}
	for i := 1; i <= 200; i++ {
		l.add(time.Duration(i) * time.Millisecond)
	}
	for q, want := range map[float64]float64{0.5: 0.1, 0.99: 0.198, 1: 0.2} {
		if got := l.quantile(q); got != want {
			t.Errorf("quantile %v is %v s, want %v", q, got, want)
		}
	}
	l.add(time.Hour)
	l.add(-time.Second) // a clock that went back
	if got := l.quantile(1); got != 60 || l.n != 202 {
		t.Errorf("the greatest of %d records is %v s, want that of the last class, 60", l.n, got)
	}
}

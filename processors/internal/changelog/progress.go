package changelog

import (
	"sync/atomic"
	"time"
)

// Progress is the progress of an Applier. The Applier writes it; other goroutines read it.
type Progress struct {
	from, to int64 // offsets
	began    time.Time
	at       atomic.Int64
	bytes    atomic.Int64 // keys and values read
}

// Remaining is what an Applier has to read until its partition can run.
type Remaining struct {
	Records int64
	Bytes   int64
	ETA     time.Duration
}

// Remaining estimates the rest from the speed so far. It is nil for a nil p.
func (p *Progress) Remaining(now time.Time) *Remaining {
	if p == nil {
		return nil
	}
	at := p.at.Load()
	r, done := &Remaining{Records: max(0, p.to-at)}, at-p.from
	if done > 0 {
		r.Bytes = int64(float64(p.bytes.Load()) / float64(done) * float64(r.Records))
		r.ETA = time.Duration(float64(now.Sub(p.began)) / float64(done) * float64(r.Records))
	}
	return r
}

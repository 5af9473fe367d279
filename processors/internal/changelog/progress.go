package changelog

import (
	"sync/atomic"
	"time"
)

// Progress is how far a replay of a changelog has come. It is written by who reads and read by who asks.
type Progress struct {
	from, to int64 // offsets
	began    time.Time
	at       atomic.Int64
	bytes    atomic.Int64 // keys and values read
}

// Remaining is what is left of a partition's way to where it can run.
type Remaining struct {
	Records int64
	Bytes   int64
	ETA     time.Duration
}

// Remaining is what is to be read; nil of nil.
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

package main

import "time"

// progress is the growth of the copies, as it is seen from outside.
type progress struct {
	started time.Time // of the process
	seen    []sighting
}

// sighting is the sum of the end offsets at a time.
type sighting struct {
	at  time.Time
	sum int64
}

// add adds a sighting. Only those that differ from the one before are kept.
func (p *progress) add(at time.Time, sum int64) {
	if n := len(p.seen); n == 0 || p.seen[n-1].sum != sum {
		p.seen = append(p.seen, sighting{at, sum})
	}
}

// last returns the time of the last growth, or the start.
func (p *progress) last() time.Time {
	if len(p.seen) == 0 {
		return p.started
	}
	return p.seen[len(p.seen)-1].at
}

// rate returns the number of records per second, from the first sighting of a quarter of the copies
// to that of the last one. Offsets include the markers of transactions, so records are taken to be
// the same share of the offsets at all times. The rate is 0 if no time passed.
func (p *progress) rate(records int64) float64 {
	if len(p.seen) == 0 {
		return 0
	}
	end := p.seen[len(p.seen)-1]
	for _, s := range p.seen {
		if s.sum < end.sum/4 {
			continue
		}
		if took := end.at.Sub(s.at).Seconds(); took > 0 {
			return float64(records) * float64(end.sum-s.sum) / float64(end.sum) / took
		}
		break
	}
	return 0
}

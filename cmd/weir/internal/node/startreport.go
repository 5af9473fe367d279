package node

import "time"

// firstStartReport is the time after which a start that still waits is reported.
const firstStartReport = 5 * time.Second

// startReport decides when a start that waits is reported: after firstStartReport, and each time
// after twice the time.
type startReport struct {
	began time.Time
	after time.Duration // of the next report; 0: the first
}

func (r *startReport) due(now time.Time) bool {
	r.after = max(r.after, firstStartReport)
	if now.Sub(r.began) < r.after {
		return false
	}
	r.after *= 2
	return true
}

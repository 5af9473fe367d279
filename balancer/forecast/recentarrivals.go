package forecast

import "math"

const (
	recentBin  = 500 // ms
	recentBins = 17  // eight seconds and the open bin
)

// recentArrivals counts the arrivals of the last eight seconds, to detect a burst at once. It is
// not stored: half a second more or less does not change a forecast.
type recentArrivals struct {
	bin    int64 // number of the open bin, time divided by recentBin
	counts [recentBins]float64
}

func (l *recentArrivals) add(atMs int64, n float64) {
	bin := atMs / recentBin
	for l.bin = max(l.bin, bin-recentBins); l.bin < bin; { // clears the bins of the ring that are reused
		l.bin++
		l.counts[l.bin%recentBins] = 0
	}
	if bin >= 0 && l.bin-bin < recentBins {
		l.counts[bin%recentBins] += n
	}
}

// minRate returns a lower bound of the arrivals per second: the greatest rate of all spans of half
// a second to eight seconds that end at a time, each less one and a half standard deviations of
// chance. A burst of 20 per second counts as 13 after one second, as 17 after four.
func (l *recentArrivals) minRate(atMs int64) (rate float64) {
	n, bin := 0.0, atMs/recentBin
	for k := range int64(recentBins) {
		if b := bin - k; b <= l.bin && b > l.bin-recentBins && b >= 0 {
			n += l.counts[b%recentBins]
		}
		if ms := atMs - (bin-k)*recentBin; ms >= recentBin {
			rate = max(rate, (n-1.5*math.Sqrt(n))*1000/float64(ms))
		}
	}
	return rate
}

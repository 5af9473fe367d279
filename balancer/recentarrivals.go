package balancer

import "math"

const (
	recentBin  = 500 // ms
	recentBins = 17  // eight seconds and the open bin
)

// recentArrivals counts the arrivals of the last eight seconds, to see a burst as soon as it is one. Half a second more or less is of no
// matter to a forecast, so it is not kept over a restart.
type recentArrivals struct {
	bin    int64 // the open one, by lastBin
	counts [recentBins]float64
}

func (l *recentArrivals) add(atMs int64, n float64) {
	bin := atMs / recentBin
	for l.bin = max(l.bin, bin-recentBins); l.bin < bin; { // what comes around again is too old
		l.bin++
		l.counts[l.bin%recentBins] = 0
	}
	if bin >= 0 && l.bin-bin < recentBins {
		l.counts[bin%recentBins] += n
	}
}

// minRate is how many arrivals a second there were at the least: the most that any span of half a second to eight that ends at
// a time gives, each less one and a half standard deviations, as chance may have added that. A burst of 20 a second counts as
// 13 within a second, as 17 within four.
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

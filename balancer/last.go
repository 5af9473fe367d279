package balancer

import "math"

const (
	lastBin  = 500 // ms
	lastBins = 17  // eight seconds and the open bin
)

// last counts the arrivals of the last eight seconds, to see a burst as soon as it is one. Half a second more or less is of no
// matter to a forecast, so it is not kept over a restart.
type last struct {
	bin    int64 // the open one, by lastBin
	counts [lastBins]float64
}

func (l *last) add(atMs int64, n float64) {
	bin := atMs / lastBin
	for l.bin = max(l.bin, bin-lastBins); l.bin < bin; { // what comes around again is too old
		l.bin++
		l.counts[l.bin%lastBins] = 0
	}
	if bin >= 0 && l.bin-bin < lastBins {
		l.counts[bin%lastBins] += n
	}
}

// least is how many arrivals a second there were at the least: the most that any span of half a second to eight that ends at
// a time gives, each less one and a half standard deviations, as chance may have added that. A burst of 20 a second counts as
// 13 within a second, as 17 within four.
func (l *last) least(atMs int64) (rate float64) {
	n, bin := 0.0, atMs/lastBin
	for k := range int64(lastBins) {
		if b := bin - k; b <= l.bin && b > l.bin-lastBins && b >= 0 {
			n += l.counts[b%lastBins]
		}
		if ms := atMs - (bin-k)*lastBin; ms >= lastBin {
			rate = max(rate, (n-1.5*math.Sqrt(n))*1000/float64(ms))
		}
	}
	return rate
}

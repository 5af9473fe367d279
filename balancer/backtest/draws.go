package backtest

import "math"

// draws is a deterministic generator of random numbers (SplitMix64: Steele, Lea, Flood 2014).
type draws uint64

func (d *draws) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// share returns a number from 0 to less than 1.
func (d *draws) share() float64 { return float64(d.next()>>11) / (1 << 53) }

// below returns a number from 0 to less than n.
func (d *draws) below(n int) int { return int(d.share() * float64(n)) }

// poisson returns a Poisson number of the given mean.
func (d *draws) poisson(rate float64) (n int) {
	for ; rate > 16; rate -= 16 { // the sum of two Poisson numbers is one
		n += d.poisson(16)
	}
	limit, p := math.Exp(-rate), 1.0
	for {
		if p *= d.share(); p <= limit {
			return n
		}
		n++
	}
}

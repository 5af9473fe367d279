package loadgen

import "math"

// alias draws from a fixed distribution in constant time with one random number (Walker 1977, built as Vose 1991).
type alias []slot

// slot i is drawn as i if the coin is below limit, else as other.
type slot struct {
	limit uint32
	other uint32
}

// zipf gives rank r, from 0, the weight 1/(r+1)^s, and all the same weight where s is Even.
func zipf(n int, s float64) alias {
	if s == Even {
		s = 0
	}
	weights := make([]float64, n)
	for r := range weights {
		weights[r] = math.Pow(float64(r+1), -s)
	}
	return newAlias(weights)
}

func newAlias(weights []float64) alias {
	total := 0.0
	for _, w := range weights {
		total += w
	}
	a := make(alias, len(weights))
	scaled := make([]float64, len(weights))
	var small, large []uint32
	for i, w := range weights {
		a[i] = slot{limit: math.MaxUint32, other: uint32(i)}
		if scaled[i] = w / total * float64(len(weights)); scaled[i] < 1 {
			small = append(small, uint32(i))
		} else {
			large = append(large, uint32(i))
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		a[s] = slot{limit: uint32(scaled[s] * math.MaxUint32), other: l}
		if scaled[l] -= 1 - scaled[s]; scaled[l] < 1 {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
	return a
}

// pick draws by the random number r: its high half chooses the slot, its low half is the coin.
func (a alias) pick(r uint64) int {
	i := int((r >> 32) * uint64(len(a)) >> 32)
	if s := a[i]; uint32(r) > s.limit {
		return int(s.other)
	}
	return i
}

package loadgen

import "math"

// aliasTable samples a fixed distribution in constant time from one random number: the alias method
// of Walker (1977), constructed as in Vose (1991).
type aliasTable []aliasSlot

// aliasSlot i yields i if a random number is at most limit, else alias.
type aliasSlot struct {
	limit uint32
	alias uint32
}

// newZipf returns the distribution of n ranks in which rank r, from 0, has the weight 1/(r+1)^s. If
// s is Even, all weights are equal.
func newZipf(n int, s float64) aliasTable {
	if s == Even {
		s = 0
	}
	weights := make([]float64, n)
	for r := range weights {
		weights[r] = math.Pow(float64(r+1), -s)
	}
	return newAliasTable(weights)
}

func newAliasTable(weights []float64) aliasTable {
	total := 0.0
	for _, w := range weights {
		total += w
	}
	a := make(aliasTable, len(weights))
	scaled := make([]float64, len(weights))
	var small, large []uint32
	for i, w := range weights {
		a[i] = aliasSlot{limit: math.MaxUint32, alias: uint32(i)}
		if scaled[i] = w / total * float64(len(weights)); scaled[i] < 1 {
			small = append(small, uint32(i))
		} else {
			large = append(large, uint32(i))
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		a[s] = aliasSlot{limit: uint32(scaled[s] * math.MaxUint32), alias: l}
		if scaled[l] -= 1 - scaled[s]; scaled[l] < 1 {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
	return a
}

// sample returns the index for the random number r. The upper half of r selects the slot, the lower
// half is compared with the limit.
func (a aliasTable) sample(r uint64) int {
	i := int((r >> 32) * uint64(len(a)) >> 32)
	if s := a[i]; uint32(r) > s.limit {
		return int(s.alias)
	}
	return i
}

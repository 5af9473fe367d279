package balancer

// Choose is the method to forecast a pool by: now is the present one, of its regions' series. Another must have been
// clearly better for an hour at least, by what too few and too many would have cost.
func Choose(now Method, series []*Series) Method {
	var score [methods]float64
	samples := 0.0
	for _, s := range series {
		samples = max(samples, s.samples)
		for m := range score {
			score[m] += s.score[m]
		}
	}
	if samples < minSamples {
		return now
	}
	best := now
	for m := range Method(methods) {
		if score[m] < score[best] && score[m] < maxScoreRatio*score[now]-minGain {
			best = m
		}
	}
	return best
}

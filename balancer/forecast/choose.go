package forecast

// Choose returns the method for a pool's forecast. now is the present method, series are the
// pool's in all regions. Another method must have been clearly better for an hour at least, by the
// cost of forecasts that were too low or too high.
func Choose(now Method, series []*Series) Method {
	var score [Methods]float64
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
	for m := range Method(Methods) {
		if score[m] < score[best] && score[m] < maxScoreRatio*score[now]-minGain {
			best = m
		}
	}
	return best
}

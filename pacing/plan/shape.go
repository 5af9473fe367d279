package plan

import "slices"

// Constants of learning.
const (
	// MaxDays is the number of days, the last ones, that Learn takes into account.
	MaxDays = 14
	// FullActions is the number of charged actions from which on a day counts in full: ten in an
	// hour.
	FullActions = 240

	hours       = 24
	credibility = 3  // days: as many as the parent counts for
	hourMinutes = 60 // of an hour of the clock, on a day without a change of it
	trimFrom    = 3  // days, from which on the highest and the lowest do not count
)

// Shape is the spend of each hour of a local clock, as a share of the spend of a day of 24 hours.
type Shape [hours]float64

// Uniform returns the shape of a day whose hours are alike.
func Uniform() (s Shape) {
	for h := range s {
		s[h] = 1.0 / hours
	}
	return s
}

// Hour is what was spent on a day in an hour of the local clock.
type Hour struct {
	// Micros is what the campaign could have spent: see "What to learn from" in the package
	// documentation.
	Micros float64
	// Minutes is the time in which it could be spent: 60, less where the flight began, the gate
	// was closed or the clock was set forward, and up to 120 where it was set back. An hour with 0
	// minutes is not known.
	Minutes float64
}

// Day is a day from which a Shape is learnt.
type Day struct {
	Hours   [hours]Hour
	Actions float64 // charged actions, such as impressions: see FullActions
}

// Add adds a spend in micros at a time, which lasted for a number of minutes, to the hour of the
// local clock that hour is.
func (d *Day) Add(hour int, micros, minutes float64) {
	d.Hours[hour].Micros += micros
	d.Hours[hour].Minutes += minutes
}

// rates returns the spend of an hour of 60 minutes, -1 where it is not known, so that the known
// hours have the sum that they have in the parent. ok is false for a day without any spend.
func (d *Day) rates(parent *Shape) (rates [hours]float64, ok bool) {
	sum, of := 0.0, 0.0
	for h, hour := range d.Hours {
		rates[h] = -1
		if !(hour.Minutes > 0) || !(hour.Micros >= 0) {
			continue
		}
		rates[h] = hour.Micros / hour.Minutes * hourMinutes
		sum += rates[h]
		of += parent[h]
	}
	if !(sum > 0) || !(of/sum > 0) || !(sum <= maxSum) {
		return rates, false
	}
	for h := range rates {
		if rates[h] > 0 {
			rates[h] *= of / sum
		}
	}
	return rates, true
}

// maxSum bounds what is summed, so that shares are finite.
const maxSum = 1e300

// Learn returns the shape of days, the last of which is the newest, together with the shape that is
// one level above. Without days it is the parent. All hours of the result are above 0 if those of
// the parent are, and the sum is 1 if that of the parent is.
func Learn(days []Day, parent Shape) Shape {
	if len(days) > MaxDays {
		days = days[len(days)-MaxDays:]
	}
	var of [hours][]float64
	var weights [hours]float64
	for i := range days {
		rates, ok := days[i].rates(&parent)
		weight := min(days[i].Actions/FullActions, 1)
		if !ok || !(weight > 0) {
			continue
		}
		for h, r := range rates {
			if r >= 0 {
				of[h] = append(of[h], r)
				weights[h] += weight
			}
		}
	}
	var s Shape
	sum := 0.0
	for h := range s {
		own := weights[h] / (weights[h] + credibility)
		s[h] = parent[h] + own*(trimmedMean(of[h], parent[h])-parent[h])
		sum += s[h]
	}
	if !(sum > 0) {
		return parent
	}
	for h := range s {
		s[h] /= sum
	}
	return s
}

// trimmedMean returns the mean without the highest and the lowest value, if there are enough. It
// sorts values.
func trimmedMean(values []float64, none float64) float64 {
	if len(values) == 0 {
		return none
	}
	slices.Sort(values)
	if len(values) >= trimFrom {
		values = values[1 : len(values)-1]
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

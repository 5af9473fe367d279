package plan

import (
	"math"
	"slices"
)

// Learner learns the shape of days that end one after the other, without keeping them. Its zero
// value has the uniform shape.
type Learner struct {
	// Days is how many days count in the shape: at most MaxDays, with those of the uniform shape. A
	// day of few actions, or of which not all hours are known, is a part of one.
	Days float64

	shares [hours]float32
}

// mostOfDay bounds what one day can change: an hour counts as a multiple of what it had, from a
// part of it to a multiple, or up to a mean hour.
const mostOfDay = 4

// RestoreLearner returns the Learner whose Shape and Days were stored. A shape with an hour that is
// not above 0, or whose sum is not 1, and a number of days that is not above 0 give the zero value.
func RestoreLearner(shape Shape, days float64) (l Learner) {
	sum := 0.0
	for _, share := range shape {
		if !(share > 0) {
			return l
		}
		sum += share
	}
	if !(days > 0) || !(math.Abs(sum-1) < 0.01) {
		return l
	}
	l.Days = min(days, MaxDays-credibility)
	l.set(&shape)
	return l
}

// set sets the shape. It is rounded to 32 bits: accounts are many.
func (l *Learner) set(s *Shape) {
	for h, share := range s {
		l.shares[h] = float32(share)
	}
}

// Shape returns what was learnt.
func (l *Learner) Shape() Shape {
	if l.Days == 0 {
		return Uniform()
	}
	var s Shape
	for h, share := range l.shares {
		s[h] = float64(share)
	}
	return s
}

// Share returns the share of an hour of Shape, from 0 to 23.
func (l *Learner) Share(hour int) float64 {
	if l.Days == 0 {
		return 1.0 / hours
	}
	return float64(l.shares[hour])
}

// Better reports whether the shape is to be used in place of that of other: more days count in it.
// Of two with as many days one is always the better one, unless they are equal.
func (l *Learner) Better(other *Learner) bool {
	if l.Days != other.Days {
		return l.Days > other.Days
	}
	return slices.Compare(l.shares[:], other.shares[:]) > 0
}

// Learn takes a day that has ended. Of n days the shape is the mean, together with three days of
// the uniform shape: credibility n / (n + 3), as of Learn. From MaxDays on, those before count less
// with each further day. An hour counts by the minutes that are known of it.
func (l *Learner) Learn(d *Day) {
	s := l.Shape()
	weight := min(d.Actions/FullActions, 1)
	rates, ok := d.rates(&s)
	if !ok || !(weight > 0) {
		return
	}
	sum, known := 0.0, 0.0 // hours
	for h, r := range rates {
		if r >= 0 {
			r = min(max(r, s[h]/mostOfDay), max(mostOfDay*s[h], 1.0/hours))
			of := min(d.Hours[h].Minutes/hourMinutes, 1)
			s[h] += of * weight / (l.Days + credibility + weight) * (r - s[h])
			known += of
		}
		sum += s[h]
	}
	for h := range s {
		s[h] /= sum
	}
	l.Days = min(l.Days+weight*known/hours, MaxDays-credibility)
	l.set(&s)
}

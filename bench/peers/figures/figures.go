package figures

import (
	"fmt"
	"math"
	"slices"
)

// Missing is a run or a system without a figure.
type Missing struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Spread is the median of the rounds, with the least and the greatest value.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// SpreadOf returns the spread of values, zeros without a value.
func SpreadOf(v []float64) Spread {
	if len(v) == 0 {
		return Spread{}
	}
	return Spread{Median(v), slices.Min(v), slices.Max(v)}
}

// Hundredths returns the spread with its values rounded to hundredths.
func (s Spread) Hundredths() Spread {
	return Spread{Hundredths(s.Median), Hundredths(s.Min), Hundredths(s.Max)}
}

// Hundredths rounds x to hundredths.
func Hundredths(x float64) float64 { return math.Round(100*x) / 100 }

// Median returns the median of at least one value; of an even number, the mean of the two in the
// middle.
func Median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// GiB returns bytes in GiB; "-": unknown.
func GiB(bytes int64) string {
	if bytes == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", float64(bytes)/(1<<30))
}

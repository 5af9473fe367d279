package render

import "fmt"

// Money formats micros of the currency's unit as a decimal with six places: 147125090 is
// "147.125090". All places are kept, so that columns align and nothing is rounded.
func Money(micros int64) string {
	sign := ""
	// The absolute value of the smallest int64 fits only the unsigned type.
	abs := uint64(micros)
	if micros < 0 {
		sign, abs = "-", -abs
	}
	return fmt.Sprintf("%s%d.%06d", sign, abs/1e6, abs%1e6)
}

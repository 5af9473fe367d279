package events

import (
	"fmt"
	"math"
)

// MicrosPerUnit is how many micros make one unit of a currency, whatever its minor unit is.
const MicrosPerUnit = 1_000_000

// AddMicros is a + b, and false if that does not fit in 64 bits: then the sum must be refused, not used.
func AddMicros(a, b int64) (int64, bool) {
	if (b > 0 && a > math.MaxInt64-b) || (b < 0 && a < math.MinInt64-b) {
		return 0, false
	}
	return a + b, true
}

// FormatMicros writes an amount for people, exactly: "147.125090 CNY". Without a currency it is the number alone.
func FormatMicros(micros int64, c Currency) string {
	sign, abs := "", uint64(micros)
	if micros < 0 {
		sign, abs = "-", -abs // right for the least int64 too
	}
	s := fmt.Sprintf("%s%d.%06d", sign, abs/MicrosPerUnit, abs%MicrosPerUnit)
	if c == 0 {
		return s
	}
	return s + " " + c.String()
}

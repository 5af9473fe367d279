package events

import (
	"fmt"
	"math"
)

// MicrosPerUnit is the number of micros in one unit of a currency, whatever the currency's minor
// unit is.
const MicrosPerUnit = 1_000_000

// MaxPriceMicros is the greatest price of one event that is counted: a thousand million units of a
// currency. A higher one can only be a mistake, and would fill the sums of its shard.
const MaxPriceMicros = 1_000_000_000_000_000

// AddMicros returns a + b and true, or 0 and false if the sum does not fit in 64 bits. A caller
// must refuse such a sum.
func AddMicros(a, b int64) (int64, bool) {
	if (b > 0 && a > math.MaxInt64-b) || (b < 0 && a < math.MinInt64-b) {
		return 0, false
	}
	return a + b, true
}

// FormatMicros returns the exact amount in units of c for people to read: "147.125090 CNY". For c =
// 0 it returns the number alone.
func FormatMicros(micros int64, c Currency) string {
	sign, abs := "", uint64(micros)
	if micros < 0 {
		sign, abs = "-", -abs // also right for the least int64
	}
	s := fmt.Sprintf("%s%d.%06d", sign, abs/MicrosPerUnit, abs%MicrosPerUnit)
	if c == 0 {
		return s
	}
	return s + " " + c.String()
}

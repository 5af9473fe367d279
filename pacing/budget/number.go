package budget

import (
	"fmt"
	"math"
	"strings"
)

// decimals is the number of decimal digits of amounts, shares and caps.
const decimals = 6

// parseDecimal reads a decimal number exactly, in millionths. It has at most 12 digits before the
// point and 6 after it, and may have a minus sign. It has no exponent, no plus sign, no spaces and
// no separators of thousands.
func parseDecimal(s string) (int64, error) {
	text, negative := strings.CutPrefix(s, "-")
	whole, fraction, point := strings.Cut(text, ".")
	if whole == "" || !digits(whole) || !digits(fraction) || point && fraction == "" {
		return 0, fmt.Errorf("%q is not a decimal number: write one such as \"12.50\", in quotes", s)
	}
	if whole = strings.TrimLeft(whole, "0"); len(whole) > 12 {
		return 0, fmt.Errorf("%q has too many digits before the point: the maximum is 12", s)
	}
	if len(strings.TrimRight(fraction, "0")) > decimals {
		return 0, fmt.Errorf("%q has too many digits after the point: the maximum is %d", s, decimals)
	}
	n := int64(0)
	for i := range len(whole) {
		n = 10*n + int64(whole[i]-'0')
	}
	for i := range decimals {
		n *= 10
		if i < len(fraction) {
			n += int64(fraction[i] - '0')
		}
	}
	if negative {
		n = -n
	}
	return n, nil
}

func digits(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}

// formatDecimal writes a number of millionths with at least least digits after the point.
func formatDecimal(n int64, least int) string {
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	fraction := strings.TrimRight(fmt.Sprintf("%06d", n%PPM), "0")
	if len(fraction) < least {
		fraction += strings.Repeat("0", least-len(fraction))
	}
	if fraction == "" {
		return fmt.Sprintf("%s%d", sign, n/PPM)
	}
	return fmt.Sprintf("%s%d.%s", sign, n/PPM, fraction)
}

// FormatAmount writes micros as documents have them, such as "12.50".
func FormatAmount(micros int64) string { return formatDecimal(micros, 2) }

// FormatPPM writes parts per million as documents have shares and caps, such as "0.5".
func FormatPPM(ppm int64) string { return formatDecimal(ppm, 1) }

// AddMicros adds amounts. The sum stays at the bounds of an int64.
func AddMicros(a, b int64) int64 {
	sum := a + b
	switch {
	case b > 0 && sum < a:
		return math.MaxInt64
	case b < 0 && sum > a:
		return math.MinInt64
	}
	return sum
}

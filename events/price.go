package events

import (
	"fmt"
	"math"
	"strings"
)

// PriceUnit is the unit in which a file states the price of one event. Its value is the power of
// ten that turns the stated number into micros. The zero value is micros.
type PriceUnit int8

// The price units. A cent (or fen) is a hundredth of the currency's unit. CPM is the price of a
// thousand events, so one event costs a thousandth of it.
const (
	UnitMicros    PriceUnit = 0
	UnitMajor     PriceUnit = 6  // "major": dollars, euros, yuan
	UnitCent      PriceUnit = 4  // "cent", "fen"
	UnitCPM       PriceUnit = 3  // "cpm": units per thousand
	UnitCPMCent   PriceUnit = 1  // "cpm-cent", "cpm-fen": hundredths per thousand; the payprice column of iPinYou
	UnitCPMMicros PriceUnit = -3 // "cpm-micros": micros per thousand
)

// ParsePriceUnit reads the name of a unit, as the comments of the constants have it.
func ParsePriceUnit(name string) (PriceUnit, error) {
	switch name {
	case "micros":
		return UnitMicros, nil
	case "major":
		return UnitMajor, nil
	case "cent", "fen":
		return UnitCent, nil
	case "cpm":
		return UnitCPM, nil
	case "cpm-cent", "cpm-fen":
		return UnitCPMCent, nil
	case "cpm-micros":
		return UnitCPMMicros, nil
	}
	return 0, fmt.Errorf("price unit %q: unknown: use micros, major, cent, fen, cpm, cpm-cent, cpm-fen or cpm-micros", name)
}

// String returns the name of the unit, with "cent" for both "cent" and "fen".
func (u PriceUnit) String() string {
	switch u {
	case UnitMicros:
		return "micros"
	case UnitMajor:
		return "major"
	case UnitCent:
		return "cent"
	case UnitCPM:
		return "cpm"
	case UnitCPMCent:
		return "cpm-cent"
	case UnitCPMMicros:
		return "cpm-micros"
	}
	return fmt.Sprintf("PriceUnit(%d)", int8(u))
}

// Micros returns the price of one event in micros. The amount is exact: Micros moves the decimal
// point, rounds nothing and uses no float. decimal has digits with an optional point and an
// optional exponent of ten ("51", "0.25", "1e-05"). Micros returns an error for a negative price,
// for a price that is not a whole number of micros, and for a price that exceeds an int64.
func (u PriceUnit) Micros(decimal string) (int64, error) {
	digits, point, err := splitDecimal(decimal)
	if err != nil {
		return 0, err
	}
	if digits == "" {
		return 0, nil
	}
	point += int(u)
	switch {
	case len(digits) > point:
		return 0, fmt.Errorf("price %.40q in %s: not a whole number of micros: round it where it is made", decimal, u)
	case point > 19:
		return 0, tooLarge(decimal, u)
	}
	var n uint64 // at most 19 digits, which fit in 64 bits
	for i := range point {
		n *= 10
		if i < len(digits) {
			n += uint64(digits[i] - '0')
		}
	}
	if n > math.MaxInt64 {
		return 0, tooLarge(decimal, u)
	}
	return int64(n), nil
}

func tooLarge(decimal string, u PriceUnit) error {
	return fmt.Errorf("price %.40q in %s: more than 9,223,372,036,854 units of a currency: check the price unit", decimal, u)
}

// splitDecimal reads a decimal number as 0.DIGITS * 10^point, where DIGITS has no zero at either
// end. For zero, digits is "".
func splitDecimal(s string) (digits string, point int, err error) {
	bad := func(why string) error {
		return fmt.Errorf("price %.40q: %s: write digits with an optional point, such as 0.25", s, why)
	}
	if strings.HasPrefix(s, "-") {
		return "", 0, bad("negative")
	}
	number, exp := s, 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		if exp, err = exponent(s[i+1:]); err != nil {
			return "", 0, bad(err.Error())
		}
		number = s[:i]
	}
	whole, frac, _ := strings.Cut(number, ".")
	digits = whole + frac
	if digits == "" || strings.ContainsFunc(digits, notDigit) {
		return "", 0, bad("not a number")
	}
	point = len(whole) + exp
	short := strings.TrimLeft(digits, "0")
	point -= len(digits) - len(short)
	return strings.TrimRight(short, "0"), point, nil
}

func notDigit(r rune) bool { return r < '0' || r > '9' }

// exponent reads at most three digits with an optional sign: no price has a longer exponent.
func exponent(s string) (int, error) {
	abs := strings.TrimPrefix(s, "+")
	sign := 1
	if abs == s {
		if abs = strings.TrimPrefix(s, "-"); abs != s {
			sign = -1
		}
	}
	if abs == "" || len(abs) > 3 || strings.ContainsFunc(abs, notDigit) {
		return 0, fmt.Errorf("%.10q is not an exponent of ten", s)
	}
	n := 0
	for _, c := range abs {
		n = 10*n + int(c-'0')
	}
	return sign * n, nil
}

package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is an amount of memory or disk space. Its text form is a number with a unit, such as
// 512MiB.
type Bytes int64

// unit is a suffix and its factor.
type unit struct {
	name   string
	factor Bytes
}

// byteUnits returns the units in the order in which String tries them, the largest binary unit
// first.
func byteUnits() []unit {
	return []unit{
		{"TiB", 1 << 40},
		{"GiB", 1 << 30},
		{"MiB", 1 << 20},
		{"KiB", 1 << 10},
		{"TB", 1e12},
		{"GB", 1e9},
		{"MB", 1e6},
		{"kB", 1e3},
		{"KB", 1e3},
		{"B", 1},
	}
}

// ParseBytes parses a whole number of bytes with an optional unit: B, kB, MB, GB, TB (powers of
// 1000) or KiB, MiB, GiB, TiB (powers of 1024). It refuses negative numbers, fractions and numbers
// of more than 63 bits.
func ParseBytes(s string) (Bytes, error) {
	num, factor := strings.TrimSpace(s), Bytes(1)
	for _, u := range byteUnits() {
		if n, ok := strings.CutSuffix(num, u.name); ok {
			num, factor = strings.TrimSpace(n), u.factor
			break
		}
	}
	n, err := strconv.ParseUint(num, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("%q is not a size: write a whole number with a unit, like 512MiB or 64KiB", s)
	}
	if Bytes(n) > math.MaxInt64/factor {
		return 0, fmt.Errorf("%q is larger than the maximum of %d bytes: write a smaller size", s, int64(math.MaxInt64))
	}
	return Bytes(n) * factor, nil
}

// String returns b in the largest binary unit that divides it.
func (b Bytes) String() string {
	for _, u := range byteUnits()[:4] {
		if b != 0 && b%u.factor == 0 {
			return strconv.FormatInt(int64(b/u.factor), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10) + "B"
}

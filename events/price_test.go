package events

import (
	"math"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func allUnits() map[string]PriceUnit {
	return map[string]PriceUnit{
		"micros": UnitMicros, "major": UnitMajor, "cent": UnitCent, "fen": UnitCent, "cpm": UnitCPM,
		"cpm-cent": UnitCPMCent, "cpm-fen": UnitCPMCent, "cpm-micros": UnitCPMMicros,
	}
}

func TestParsePriceUnit(t *testing.T) {
	for name, want := range allUnits() {
		u, err := ParsePriceUnit(name)
		if err != nil || u != want || strings.ReplaceAll(name, "fen", "cent") != u.String() {
			t.Errorf("%s: %v, %v", name, u, err)
		}
	}
	for _, name := range []string{"", "CPM", "euro", "cpm fen"} {
		if u, err := ParsePriceUnit(name); err == nil || !strings.Contains(err.Error(), "cpm-fen") {
			t.Errorf("%q: %v, %v", name, u, err)
		}
	}
	if s := PriceUnit(9).String(); s != "PriceUnit(9)" {
		t.Errorf("String of an unknown unit is %q", s)
	}
}

func TestPriceMicros(t *testing.T) {
	for _, c := range []struct {
		in   string
		unit PriceUnit
		want int64
	}{
		{"51", UnitCPMCent, 510},
		{"14712509", UnitCPMCent, 147_125_090}, // the total of iPinYou's campaign 1458 in the real-data test
		{"1234", UnitMicros, 1234},
		{"1.5", UnitMajor, 1_500_000},
		{"0.000001", UnitMajor, 1},
		{".5", UnitCent, 5000},
		{"7.", UnitCent, 70_000},
		{"2.345", UnitCPM, 2345},
		{"1000", UnitCPMMicros, 1},
		{"0", UnitCPMMicros, 0},
		{"0.000", UnitMicros, 0},
		{"000", UnitMajor, 0},
		{"0012.50", UnitMajor, 12_500_000},
		{"1e-05", UnitMajor, 10},
		{"5.1E+1", UnitCPMCent, 510},
		{"0e999", UnitMajor, 0},
		{"51.000000000000000000000000000000", UnitCPMCent, 510},
		{"9223372036854775807", UnitMicros, math.MaxInt64},
		{"9223372036854.775807", UnitMajor, math.MaxInt64},
		{"000000000000000000000000000001", UnitMicros, 1},
	} {
		if got, err := c.unit.Micros(c.in); err != nil || got != c.want {
			t.Errorf("%s %v: %d, %v, want %d", c.in, c.unit, got, err, c.want)
		}
	}
	for _, c := range []struct {
		in   string
		unit PriceUnit
		why  string
	}{
		{"", UnitMajor, "not a number"},
		{".", UnitMajor, "not a number"},
		{"e5", UnitMajor, "not a number"},
		{"NaN", UnitMajor, "not a number"},
		{"1.2.3", UnitMajor, "not a number"},
		{"1,5", UnitMajor, "not a number"},
		{" 1", UnitMajor, "not a number"},
		{"+1", UnitMajor, "not a number"},
		{"0x10", UnitMajor, "not a number"},
		{"1_000", UnitMajor, "not a number"},
		{"١", UnitMajor, "not a number"},
		{"1\x00", UnitMajor, "not a number"},
		{"-1", UnitMajor, "negative"},
		{"-0", UnitMajor, "negative"},
		{"1e", UnitMajor, "exponent"},
		{"1e+", UnitMajor, "exponent"},
		{"1e-+5", UnitMajor, "exponent"},
		{"1e0000", UnitMajor, "exponent"},
		{"1e5.5", UnitMajor, "exponent"},
		{"0.5", UnitMicros, "whole number"},
		{"1", UnitCPMMicros, "whole number"},
		{"0.0000001", UnitMajor, "whole number"},
		{"1e-999", UnitMajor, "whole number"},
		{"9223372036854775808", UnitMicros, "more than"},
		{"9223372036854.775808", UnitMajor, "more than"},
		{"1e999", UnitMicros, "more than"},
		{"18446744073709551617", UnitMicros, "more than"},
		{strings.Repeat("9", 5000), UnitMicros, "more than"},
	} {
		got, err := c.unit.Micros(c.in)
		if err == nil || got != 0 || !strings.Contains(err.Error(), c.why) || len(err.Error()) > 300 {
			t.Errorf("%.40q %v: %d, %v, want an error with %q", c.in, c.unit, got, err, c.why)
		}
	}
}

// samePrice compares Micros with math/big: the price times 10^unit must be a whole number that fits
// in 64 bits.
func samePrice(t interface{ Fatalf(string, ...any) }, s string, u PriceUnit) {
	got, err := u.Micros(s)
	if !regexp.MustCompile(`^([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$`).MatchString(s) {
		if err == nil {
			t.Fatalf("%q %v: read as %d", s, u, got)
		}
		return
	}
	want, ok := new(big.Rat).SetString(s)
	if !ok {
		t.Fatalf("math/big does not read %q as a number", s)
	}
	factor := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(max(int64(u), int64(-u))), nil))
	if u < 0 {
		factor.Inv(factor)
	}
	want.Mul(want, factor)
	fits := want.IsInt() && want.Num().IsInt64()
	if (err == nil) != fits || (fits && want.Num().Int64() != got) {
		t.Fatalf("%q %v: %d, %v, want %v", s, u, got, err, want)
	}
}

func TestPriceMicrosRandom(t *testing.T) {
	units := rapid.SampledFrom([]PriceUnit{UnitMicros, UnitMajor, UnitCent, UnitCPM, UnitCPMCent, UnitCPMMicros})
	rapid.Check(t, func(t *rapid.T) {
		samePrice(t, rapid.StringMatching(`[0-9]{0,22}(\.[0-9]{0,9}0{0,4})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "price"), units.Draw(t, "unit"))
	})
}

func FuzzPriceMicros(f *testing.F) {
	for _, s := range []string{"51", "0.25", "1e-05", "9223372036854775807", "1.2.3", "-1", "00.00e9", "1e-999"} {
		for _, u := range allUnits() {
			f.Add(s, int8(u))
		}
	}
	f.Fuzz(func(t *testing.T, s string, unit int8) {
		u := PriceUnit(unit % 7)
		samePrice(t, s, u)
	})
}

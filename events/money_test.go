package events

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestAddMicrosRandom(t *testing.T) {
	edge := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{0, 1, -1, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1}))
	rapid.Check(t, func(t *rapid.T) {
		a, b := edge.Draw(t, "a"), edge.Draw(t, "b")
		want := new(big.Int).Add(big.NewInt(a), big.NewInt(b))
		got, ok := AddMicros(a, b)
		if ok != want.IsInt64() || (ok && got != want.Int64()) || (!ok && got != 0) {
			t.Fatalf("%d + %d = %d %v, want %v", a, b, got, ok, want)
		}
	})
}

func TestAddMicrosEdges(t *testing.T) {
	for _, c := range []struct {
		a, b, sum int64
		ok        bool
	}{
		{0, 0, 0, true},
		{math.MaxInt64, 0, math.MaxInt64, true},
		{math.MaxInt64, 1, 0, false},
		{math.MinInt64, -1, 0, false},
		{math.MinInt64, math.MaxInt64, -1, true},
		{math.MinInt64, math.MinInt64, 0, false},
		{math.MaxInt64 - 5, 5, math.MaxInt64, true},
	} {
		if sum, ok := AddMicros(c.a, c.b); sum != c.sum || ok != c.ok {
			t.Errorf("%d + %d = %d %v, want %d %v", c.a, c.b, sum, ok, c.sum, c.ok)
		}
	}
}

func TestFormatMicros(t *testing.T) {
	cny, err := ParseCurrency("CNY")
	if err != nil {
		t.Fatal(err)
	}
	for micros, want := range map[int64]string{
		147_125_090: "147.125090 CNY", 0: "0.000000 CNY", 1: "0.000001 CNY", -1: "-0.000001 CNY", -1_500_000: "-1.500000 CNY",
		math.MaxInt64: "9223372036854.775807 CNY", math.MinInt64: "-9223372036854.775808 CNY",
	} {
		if got := FormatMicros(micros, cny); got != want {
			t.Errorf("%d: %q, want %q", micros, got, want)
		}
	}
	if got := FormatMicros(1, 0); got != "0.000001" {
		t.Errorf("without a currency: %q", got)
	}
}

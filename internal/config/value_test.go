package config

import (
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseBytes(t *testing.T) {
	for _, tc := range []struct {
		text string
		want Bytes
		bad  string
	}{
		{"0", 0, ""},
		{"1", 1, ""},
		{"10B", 10, ""},
		{"512MiB", 512 << 20, ""},
		{" 64 KiB ", 64 << 10, ""},
		{"2GB", 2e9, ""},
		{"3kB", 3000, ""},
		{"3KB", 3000, ""},
		{"1TiB", 1 << 40, ""},
		{"9223372036854775807", math.MaxInt64, ""},
		{"9223372036854775808", 0, "not a size"},
		{"8388608TiB", 0, "larger than"},
		{"-1", 0, "not a size"},
		{"1.5GiB", 0, "not a size"},
		{"", 0, "not a size"},
		{"MiB", 0, "not a size"},
		{"1 MiB MiB", 0, "not a size"},
		{"1mib", 0, "not a size"},
		{"0x10", 0, "not a size"},
	} {
		got, err := ParseBytes(tc.text)
		if got != tc.want || (err != nil) != (tc.bad != "") || err != nil && !strings.Contains(err.Error(), tc.bad) {
			t.Errorf("ParseBytes(%q) = %d, %v; want %d, %s", tc.text, got, err, tc.want, tc.bad)
		}
	}
}

func TestBytesReadBackAsPrinted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Bytes(rapid.Int64Range(0, math.MaxInt64).Draw(t, "b")) << rapid.IntRange(0, 50).Draw(t, "shift")
		if b < 0 {
			t.Skip("does not fit")
		}
		if got, err := ParseBytes(b.String()); err != nil || got != b {
			t.Fatalf("%d prints as %s and reads as %d, %v", int64(b), b, got, err)
		}
	})
}

// TestParseBytesAgainstBigIntegers compares ParseBytes with arithmetic that cannot overflow.
func TestParseBytesAgainstBigIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64().Draw(t, "n")
		u := rapid.SampledFrom(byteUnits()).Draw(t, "unit")
		x := new(big.Int).Mul(new(big.Int).SetUint64(n), big.NewInt(int64(u.factor)))
		got, err := ParseBytes(new(big.Int).SetUint64(n).String() + u.name)
		if fits := x.IsInt64(); fits != (err == nil) || fits && int64(got) != x.Int64() {
			t.Fatalf("%d%s = %d, %v; want %v", n, u.name, got, err, x)
		}
	})
}

func TestDurationsReadBackAsPrinted(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 100 * time.Millisecond: "100ms", 6 * time.Second: "6s", 10 * time.Minute: "10m", 24 * time.Hour: "24h", 90 * time.Minute: "1h30m",
		time.Hour + time.Second: "1h0m1s", 20 * time.Hour: "20h", 100 * time.Minute: "1h40m",
	} {
		if got := showDuration(d); got != want {
			t.Errorf("%v shows as %s, want %s", d, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64().Draw(t, "d")) * time.Duration(rapid.SampledFrom([]int64{1, int64(time.Second), int64(time.Hour)}).Draw(t, "unit"))
		if got, err := parseDuration(showDuration(d)); err != nil || got != d {
			t.Fatalf("%d shows as %s and reads as %d, %v", d, showDuration(d), got, err)
		}
	})
}

func TestSplitList(t *testing.T) {
	for text, want := range map[string][]string{"": nil, "  ": nil, "a": {"a"}, " a , b": {"a", "b"}, "a,,b": {"a", "", "b"}} {
		if got := splitList(text); !reflect.DeepEqual(got, want) {
			t.Errorf("splitList(%q) = %q, want %q", text, got, want)
		}
	}
}

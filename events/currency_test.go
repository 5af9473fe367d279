package events

import (
	"maps"
	"testing"

	"pgregory.net/rapid"
)

// everyCode calls f with each of the 17,576 codes that three capitals make.
func everyCode(f func(code string, c Currency)) {
	for i := range 26 * 26 * 26 {
		s := string([]byte{byte('A' + i/676), byte('A' + i/26%26), byte('A' + i%26)})
		f(s, packCurrency([]byte(s)))
	}
}

// TestCurrencyList compares the number of codes with each number of digits with the numbers in the
// standard's own table.
func TestCurrencyList(t *testing.T) {
	got := make(map[int]int)
	everyCode(func(code string, c Currency) {
		got[c.minorUnit()]++
		parsed, err := ParseCurrency(code)
		if c.String() != code || (err == nil) != c.Known() || (err == nil && parsed != c) {
			t.Errorf("%s: %v, parsed %v %v, known %v", code, c, parsed, err, c.Known())
		}
	})
	want := map[int]int{2: 139, 0: 17, 3: 7, 4: 2, noUnit: 11, notListed: 26*26*26 - 176}
	if !maps.Equal(got, want) {
		t.Errorf("codes by digits: %v, want %v", got, want)
	}
}

func TestCurrencyExponent(t *testing.T) {
	for code, want := range map[string]int{
		"CNY": 2, "USD": 2, "EUR": 2, "JPY": 0, "KRW": 0, "ISK": 0, "KWD": 3, "TND": 3, "CLF": 4, "UYW": 4,
		"AED": 2, "ZWG": 2, "XCG": 2, "XAD": 2,
	} {
		c, err := ParseCurrency(code)
		if err != nil {
			t.Errorf("%s: %v", code, err)
			continue
		}
		if n, ok := c.Exponent(); !ok || n != want {
			t.Errorf("%s: exponent %d %v, want %d", code, n, ok, want)
		}
	}
	gold, err := ParseCurrency("XAU")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []Currency{gold, 0, CurrencyInvalid, packCurrency([]byte("ABC"))} {
		if n, ok := c.Exponent(); ok || n != 0 {
			t.Errorf("%v: exponent %d, want none", c, n)
		}
	}
}

func TestParseCurrencyRefuses(t *testing.T) {
	// Withdrawn codes, codes that do not exist, codes for tests, and wrong forms.
	for _, s := range []string{"", "DEM", "HRK", "BGN", "ANG", "ZWL", "AAA", "ZZZ", "XXX", "XTS", "cny", "CN", "CNYX", " CNY", "C\xffY", "€"} {
		if c, err := ParseCurrency(s); err == nil || c != 0 {
			t.Errorf("%q: %v, %v", s, c, err)
		}
	}
}

func TestCurrencyString(t *testing.T) {
	for c, want := range map[Currency]string{
		0: "", CurrencyInvalid: "invalid", 'C'<<16 | 'N'<<8 | 'Y': "CNY", 1: "invalid",
		1<<24 | 'C'<<16 | 'N'<<8 | 'Y': "invalid", 'A'<<16 | 'B'<<8 | 'C': "ABC", 'a'<<16 | 'b'<<8 | 'c': "invalid",
	} {
		if c.String() != want {
			t.Errorf("%#x: %q, want %q", uint32(c), c, want)
		}
	}
}

// TestCurrencyKnownRandom: a number that is not three packed capital letters is never known.
func TestCurrencyKnownRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Currency(rapid.Uint32().Draw(t, "currency"))
		if c.Known() && packCurrency([]byte(c.String())) != c {
			t.Fatalf("%#x is known as %v", uint32(c), c)
		}
	})
}

func BenchmarkCurrencyKnown(b *testing.B) {
	c := packCurrency([]byte("CNY"))
	for b.Loop() {
		if !c.Known() {
			b.Fatal("CNY is not known")
		}
	}
}

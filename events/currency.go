package events

import "fmt"

// CurrencyInvalid is the value that Decode stores for a currency field that is not three letters
// A-Z. It packs no code, and Known returns false for it.
const CurrencyInvalid Currency = 1 << 31

// ParseCurrency packs a currency code in capitals. It returns an error for a code that is not in
// the list of active ISO 4217 codes.
func ParseCurrency(s string) (Currency, error) {
	c := packCurrency([]byte(s))
	if !c.Known() {
		return 0, fmt.Errorf("currency %q: not an active ISO 4217 code: use one such as USD, EUR or CNY", s)
	}
	return c, nil
}

// String returns the code, "" for 0, and "invalid" if c packs no three capital letters.
func (c Currency) String() string {
	a, b, d := byte(c>>16), byte(c>>8), byte(c)
	switch {
	case c == 0:
		return ""
	case c>>24 != 0 || !isCapital(a) || !isCapital(b) || !isCapital(d):
		return "invalid"
	}
	return string([]byte{a, b, d})
}

// Known reports whether c is an active ISO 4217 code.
func (c Currency) Known() bool { return c.minorUnit() != notListed }

// Exponent returns the number of decimal digits of the currency's minor unit: 2 for CNY, 0 for JPY.
// The result is false for an unknown code and for a currency without a minor unit, such as gold.
func (c Currency) Exponent() (int, bool) {
	n := c.minorUnit()
	return max(n, 0), n >= 0
}

// packCurrency packs three capital letters, whether the code is known or not. An empty s gives 0,
// any other text CurrencyInvalid.
func packCurrency(s []byte) Currency {
	if len(s) == 3 && isCapital(s[0]) && isCapital(s[1]) && isCapital(s[2]) {
		return Currency(s[0])<<16 | Currency(s[1])<<8 | Currency(s[2])
	}
	if len(s) == 0 {
		return 0
	}
	return CurrencyInvalid
}

func isCapital(c byte) bool { return c-'A' <= 'Z'-'A' }

// minorUnit returns the number of digits of the currency's minor unit, noUnit or notListed. Its
// list is the active codes of ISO 4217 list one, amendment 180 (1 January 2026), without XXX (no
// currency) and XTS (for tests), in which no debt can exist. It is a switch because the compiler
// turns a switch into code, while a map would have to be built when the program starts.
func (c Currency) minorUnit() int {
	if c>>24 != 0 {
		return notListed
	}
	switch string([]byte{byte(c >> 16), byte(c >> 8), byte(c)}) {
	case "AED", "AFN", "ALL", "AMD", "AOA", "ARS", "AUD", "AWG", "AZN", "BAM", "BBD", "BDT", "BMD", "BND",
		"BOB", "BOV", "BRL", "BSD", "BTN", "BWP", "BYN", "BZD", "CAD", "CDF", "CHE", "CHF", "CHW", "CNY",
		"COP", "COU", "CRC", "CUP", "CVE", "CZK", "DKK", "DOP", "DZD", "EGP", "ERN", "ETB", "EUR", "FJD",
		"FKP", "GBP", "GEL", "GHS", "GIP", "GMD", "GTQ", "GYD", "HKD", "HNL", "HTG", "HUF", "IDR", "ILS",
		"INR", "IRR", "JMD", "KES", "KGS", "KHR", "KPW", "KYD", "KZT", "LAK", "LBP", "LKR", "LRD", "LSL",
		"MAD", "MDL", "MGA", "MKD", "MMK", "MNT", "MOP", "MRU", "MUR", "MVR", "MWK", "MXN", "MXV", "MYR",
		"MZN", "NAD", "NGN", "NIO", "NOK", "NPR", "NZD", "PAB", "PEN", "PGK", "PHP", "PKR", "PLN", "QAR",
		"RON", "RSD", "RUB", "SAR", "SBD", "SCR", "SDG", "SEK", "SGD", "SHP", "SLE", "SOS", "SRD", "SSP",
		"STN", "SVC", "SYP", "SZL", "THB", "TJS", "TMT", "TOP", "TRY", "TTD", "TWD", "TZS", "UAH", "USD",
		"USN", "UYU", "UZS", "VED", "VES", "WST", "XAD", "XCD", "XCG", "YER", "ZAR", "ZMW", "ZWG":
		return 2
	case "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV",
		"XAF", "XOF", "XPF":
		return 0
	case "BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND":
		return 3
	case "CLF", "UYW":
		return 4
	case "XAG", "XAU", "XBA", "XBB", "XBC", "XBD", "XDR", "XPD", "XPT", "XSU", "XUA":
		return noUnit
	}
	return notListed
}

// Results of minorUnit that are not a number of digits.
const (
	noUnit    = -1 // metals, testing funds and units of account
	notListed = -2
)

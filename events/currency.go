package events

import "fmt"

// CurrencyInvalid is what Decode stores for a currency field that is not three letters A-Z. It packs no code and is
// never Known.
const CurrencyInvalid Currency = 1 << 31

// ParseCurrency packs an ISO 4217 code in capitals. Codes that the list does not hold are refused.
func ParseCurrency(s string) (Currency, error) {
	c := packCurrency([]byte(s))
	if !c.Known() {
		return 0, fmt.Errorf("currency %q: not an active ISO 4217 code: use one such as USD, EUR or CNY", s)
	}
	return c, nil
}

// String is the code, "" if absent, "invalid" if no code can be in c.
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

// Known says whether c is an active ISO 4217 code.
func (c Currency) Known() bool { return c.minorUnit() != notListed }

// Exponent is the number of decimal digits of the currency's minor unit: 2 for CNY, 0 for JPY. It is false for an
// unknown code and for those without a minor unit, such as gold.
func (c Currency) Exponent() (int, bool) {
	n := c.minorUnit()
	return max(n, 0), n >= 0
}

// packCurrency packs three capitals, known code or not; empty is 0, anything else CurrencyInvalid.
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

// minorUnit is the number of digits of the currency's minor unit, noUnit or notListed. It names the active codes of ISO
// 4217 list one as of amendment 180 (1 January 2026). Left out on purpose: XXX (no currency) and XTS (for tests), in which
// nothing can be owed. A switch, because the compiler makes of it what a table would have to be initialised for.
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

// What minorUnit answers beside numbers of digits.
const (
	noUnit    = -1 // gold and the like
	notListed = -2
)

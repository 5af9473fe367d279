package item

import "strconv"

// The range of a number: the number of its digits, and the exponent of its first digit.
const (
	maxDigits   = 38
	maxExponent = 125
	minExponent = -130
)

const (
	overflow   = "Number overflow. Attempting to store a number with magnitude larger than supported range"
	underflow  = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
	tooPrecise = "Attempting to store more than 38 significant digits in a Number"
)

// The first byte of a number's payload.
const (
	negative = 1
	zero     = 2
	positive = 3
)

// decimal is a decoded number. Its first digit is worth 10^exp, neither its first nor its last
// digit is 0, and zero has no digits.
//
// The payload of a number sorts as the number does: the sign (negative, zero or positive), the
// exponent minus minExponent, and the digits in pairs plus 1, so that 0 does not occur. In a
// negative number all bytes but the sign are inverted, and a byte 255 ends it, so that the longer
// of two numbers with common digits sorts first.
type decimal struct {
	neg   bool
	exp   int
	n     int                   // number of digits
	digit [2*maxDigits + 2]byte // room for a sum of two numbers with a common column
}

// Num returns the number in a text: digits with an optional sign, point and exponent. Its errors
// are DynamoDB's.
func Num(text string) (Value, error) {
	d, err := parseNumber(text)
	if err != nil {
		return Value{}, err
	}
	return d.value(), nil
}

// Int returns the number n.
func Int(n int64) Value {
	v, err := Num(strconv.FormatInt(n, 10))
	if err != nil { // cannot happen: n has at most 19 digits
		return Value{}
	}
	return v
}

func notNumeric(text string) *Error {
	if text == "" {
		return Invalid("The parameter cannot be converted to a numeric value")
	}
	return Invalid("The parameter cannot be converted to a numeric value: " + text)
}

func parseNumber[T string | []byte](text T) (d decimal, err *Error) {
	i, point, digits, lost := 0, false, 0, false
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		d.neg, i = text[0] == '-', 1
	}
	exp := -1 // exponent of the last digit read before the point, leading zeros not counted
	for ; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '.' && !point:
			point = true
			continue
		case c < '0' || c > '9':
		default:
			digits++
			switch {
			case d.n == 0 && c == '0': // leading
				if point {
					exp--
				}
				continue
			case d.n < len(d.digit):
				d.digit[d.n] = c - '0'
				d.n++
			default:
				lost = lost || c != '0'
			}
			if !point {
				exp++
			}
			continue
		}
		break
	}
	if digits == 0 {
		return decimal{}, notNumeric(string(text))
	}
	shift, ok := exponent(text[i:])
	if !ok {
		return decimal{}, notNumeric(string(text))
	}
	d.exp = exp + shift
	return d, d.normalise(lost)
}

// exponent reads the text after the digits: nothing, or e, an optional sign and digits. It caps the
// exponent at a number so great that no text is long enough to bring the number back into the
// range.
func exponent[T string | []byte](text T) (exp int, ok bool) {
	if len(text) == 0 {
		return 0, true
	}
	if text[0] != 'e' && text[0] != 'E' {
		return 0, false
	}
	i, sign := 1, 1
	if i < len(text) && (text[i] == '-' || text[i] == '+') {
		if text[i] == '-' {
			sign = -1
		}
		i++
	}
	if i == len(text) {
		return 0, false
	}
	for ; i < len(text); i++ {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
		if exp < 1<<30 {
			exp = exp*10 + int(text[i]-'0')
		}
	}
	return sign * exp, true
}

// normalise removes zeros at both ends and checks the range. lost means that digits other than 0
// did not fit.
func (d *decimal) normalise(lost bool) *Error {
	skip := 0
	for skip < d.n && d.digit[skip] == 0 {
		skip++
	}
	if skip > 0 {
		copy(d.digit[:], d.digit[skip:d.n])
		d.n, d.exp = d.n-skip, d.exp-skip
	}
	for d.n > 0 && d.digit[d.n-1] == 0 && !lost {
		d.n--
	}
	switch {
	case d.n == 0:
		*d = decimal{}
		return nil
	case d.exp > maxExponent:
		return Invalid(overflow)
	case d.exp < minExponent:
		return Invalid(underflow)
	case d.n > maxDigits:
		return Invalid(tooPrecise)
	}
	return nil
}

// appendPayload appends the sortable form.
func (d *decimal) appendPayload(dst []byte) []byte {
	if d.n == 0 {
		return append(dst, zero)
	}
	sign, flip := byte(positive), byte(0)
	if d.neg {
		sign, flip = negative, 0xff
	}
	dst = append(dst, sign, byte(d.exp-minExponent)^flip)
	for i := 0; i < d.n; i += 2 {
		pair := d.digit[i]*10 + 1
		if i+1 < d.n {
			pair += d.digit[i+1]
		}
		dst = append(dst, pair^flip)
	}
	if d.neg {
		dst = append(dst, 0xff)
	}
	return dst
}

func (d *decimal) value() Value {
	var room [2 + 3 + maxDigits/2]byte
	enc := d.appendPayload(append(room[:0], byte(N), 0))
	enc[1] = byte(len(enc) - 2)
	return Value{string(enc)}
}

// decode reads a payload.
func decode(payload string) (d decimal) {
	if payload[0] == zero {
		return d
	}
	flip := byte(0)
	if payload[0] == negative {
		d.neg, flip, payload = true, 0xff, payload[:len(payload)-1]
	}
	d.exp = int(payload[1]^flip) + minExponent
	for i := 2; i < len(payload); i++ {
		pair := payload[i] ^ flip - 1
		d.digit[d.n], d.digit[d.n+1] = pair/10, pair%10
		d.n += 2
	}
	if d.digit[d.n-1] == 0 {
		d.n--
	}
	return d
}

// appendNumber appends a payload as DynamoDB prints the number: without an exponent and without
// needless zeros.
func appendNumber(dst []byte, payload string) []byte {
	d := decode(payload)
	if d.n == 0 {
		return append(dst, '0')
	}
	if d.neg {
		dst = append(dst, '-')
	}
	if d.exp < 0 {
		dst = append(dst, '0', '.')
		for range -d.exp - 1 {
			dst = append(dst, '0')
		}
	}
	for i := range d.n {
		if i == d.exp+1 && i > 0 {
			dst = append(dst, '.')
		}
		dst = append(dst, '0'+d.digit[i])
	}
	for range d.exp - d.n + 1 {
		dst = append(dst, '0')
	}
	return dst
}

package item

// Add returns the exact sum of a and b, both of kind N. It returns DynamoDB's error if the sum has
// more than 38 digits or is out of range.
func Add(a, b Value) (Value, error) { return sum(decode(a.payload()), decode(b.payload())) }

// Sub returns the exact difference a - b of two values of kind N. It returns the same errors as
// Add.
func Sub(a, b Value) (Value, error) {
	d := decode(b.payload())
	d.neg = !d.neg
	return sum(decode(a.payload()), d)
}

func sum(a, b decimal) (Value, error) {
	if a.n == 0 || b.n == 0 {
		if a.n == 0 {
			a = b
		}
		return a.value(), nil
	}
	if less(&a, &b) {
		a, b = b, a
	}
	// Column 0 is the carry of the first digit, worth 10^(a.exp+1).
	low := min(a.exp-a.n, b.exp-b.n) + 1
	width := a.exp - low + 2
	out := decimal{neg: a.neg, exp: a.exp + 1, n: width}
	if width > len(out.digit) {
		// The numbers have no column in common, so nothing is carried, and the result has more
		// digits than fit: at most one of the digits between the first and the last cancels out.
		return Value{}, Invalid(tooPrecise)
	}
	carry := 0
	for i := width - 1; i >= 0; i-- {
		e := out.exp - i
		x, y := a.at(e), b.at(e)
		if a.neg != b.neg {
			y = -y
		}
		s := x + y + carry
		carry = 0
		if s < 0 {
			s, carry = s+10, -1
		} else if s > 9 {
			s, carry = s-10, 1
		}
		out.digit[i] = byte(s)
	}
	if err := out.normalise(false); err != nil {
		return Value{}, err
	}
	return out.value(), nil
}

// less reports whether the absolute value of a is less than that of b.
func less(a, b *decimal) bool {
	if a.exp != b.exp {
		return a.exp < b.exp
	}
	for i := range max(a.n, b.n) {
		if a.digit[i] != b.digit[i] {
			return a.digit[i] < b.digit[i]
		}
	}
	return false
}

// at returns the digit worth 10^e.
func (d *decimal) at(e int) int {
	if i := d.exp - e; i >= 0 && i < d.n {
		return int(d.digit[i])
	}
	return 0
}

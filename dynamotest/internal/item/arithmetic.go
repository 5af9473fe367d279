package item

// Add returns a + b, both of kind N, exactly, or the service's error if that has too many digits or leaves the range.
func Add(a, b Value) (Value, error) { return sum(decode(a.payload()), decode(b.payload())) }

// Sub returns a - b, both of kind N, exactly, or the service's error if that has too many digits or leaves the range.
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
		// No column in common: nothing is carried, and of the digits from the first to the last one, which is not 0, at
		// most one cancels out.
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

// less tells whether a is less than b without regard to the signs.
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

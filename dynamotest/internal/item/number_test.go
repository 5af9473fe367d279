package item_test

import (
	"bytes"
	"cmp"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/item/itemtest"
)

const (
	overflow   = "Number overflow. Attempting to store a number with magnitude larger than supported range"
	underflow  = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
	tooPrecise = "Attempting to store more than 38 significant digits in a Number"
	notNumeric = "The parameter cannot be converted to a numeric value"
)

func num(t testing.TB, text string) item.Value {
	t.Helper()
	v, err := item.Num(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestNum(t *testing.T) {
	nines := strings.Repeat("9", 38)
	for _, c := range []struct{ text, want string }{
		{"0", "0"},
		{"-0", "0"},
		{"+0.00", "0"},
		{"0e99999999999", "0"},
		{"1", "1"},
		{"+5", "5"},
		{"-007", "-7"},
		{"5.", "5"},
		{".5", "0.5"},
		{"+.5", "0.5"},
		{"1.500", "1.5"},
		{"1e3", "1000"},
		{"1E+3", "1000"},
		{"1.5E+3", "1500"},
		{"123.456e-2", "1.23456"},
		{"123456e-2", "1234.56"},
		{"0.0001234", "0.0001234"},
		{"1000000", "1000000"},
		{"-12300", "-12300"},
		{nines, nines},
		{"0." + nines, "0." + nines},
		{"00" + nines + "00", nines + "00"},
		{nines + ".000000", nines},
		{"1" + strings.Repeat("0", 125), "1" + strings.Repeat("0", 125)},
		{"1E-130", "0." + strings.Repeat("0", 129) + "1"},
		{"9." + nines[1:] + "E+125", nines + strings.Repeat("0", 88)},
		{"-9." + nines[1:] + "E125", "-" + nines + strings.Repeat("0", 88)},
	} {
		v := num(t, c.text)
		if got := v.Text(); got != c.want {
			t.Errorf("%s is %s, not %s", c.text, got, c.want)
		}
		if again := num(t, c.want); again != v {
			t.Errorf("%s and %s differ", c.text, c.want)
		}
	}
}

func TestNumRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", notNumeric},
		{"abc", notNumeric + ": abc"},
		{" 1", notNumeric + ":  1"},
		{"1 ", notNumeric + ": 1 "},
		{"1.2.3", notNumeric + ": 1.2.3"},
		{"++5", notNumeric + ": ++5"},
		{".", notNumeric + ": ."},
		{"-", notNumeric + ": -"},
		{"+e2", notNumeric + ": +e2"},
		{"1e", notNumeric + ": 1e"},
		{"1e+", notNumeric + ": 1e+"},
		{"1e1.5", notNumeric + ": 1e1.5"},
		{"1_000", notNumeric + ": 1_000"},
		{"NaN", notNumeric + ": NaN"},
		{"Infinity", notNumeric + ": Infinity"},
		{"0x10", notNumeric + ": 0x10"},
		{"١", notNumeric + ": ١"},
		{"1E126", overflow},
		{"-1E126", overflow},
		{"1e99999999999999999999", overflow},
		{"1E-131", underflow},
		{"-1E-131", underflow},
		{"1e-99999999999999999999", underflow},
		{"1" + strings.Repeat("0", 37) + "1", tooPrecise},
		{strings.Repeat("1", 39), tooPrecise},
		{strings.Repeat("1", 60), tooPrecise},
		{"0." + strings.Repeat("1", 39), tooPrecise},
		{"1" + strings.Repeat("0", 60) + "1", tooPrecise},
	} {
		if _, err := item.Num(c.text); itemtest.Message(t, err) != c.want {
			t.Errorf("%q: %v, not %s", c.text, err, c.want)
		}
	}
}

// exact returns the exact value of a number's text.
func exact(t *rapid.T, text string) *big.Rat {
	r, ok := new(big.Rat).SetString(strings.TrimPrefix(text, "+"))
	if !ok {
		t.Fatalf("%q is not a number", text)
	}
	return r
}

func TestNumIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := itemtest.Number().Draw(t, "text")
		v, err := item.Num(text)
		if err != nil {
			t.Fatal(err)
		}
		out := v.Text()
		if exact(t, text).Cmp(exact(t, out)) != 0 {
			t.Fatalf("%s became %s", text, out)
		}
		if strings.ContainsAny(out, "eE+") || strings.HasPrefix(strings.TrimPrefix(out, "-"), "0") && out != "0" && !strings.Contains(out, "0.") ||
			strings.Contains(out, ".") && (strings.HasSuffix(out, "0") || strings.HasSuffix(out, ".")) {
			t.Fatalf("%s is not in DynamoDB's form", out)
		}
	})
}

func TestNumbersSortByValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := itemtest.Number().Draw(t, "x"), itemtest.Number().Draw(t, "y")
		a, err := item.Num(x)
		if err != nil {
			t.Fatal(err)
		}
		b, err := item.Num(y)
		if err != nil {
			t.Fatal(err)
		}
		want := exact(t, x).Cmp(exact(t, y))
		if got, ok := item.Compare(a, b); !ok || got != want {
			t.Fatalf("%s against %s: %d, not %d", x, y, got, want)
		}
		if (a == b) != (want == 0) {
			t.Fatalf("%s == %s: %v", x, y, a == b)
		}
	})
}

func TestNumbersInOrder(t *testing.T) {
	ascending := []string{
		"-9.9999999999999999999999999999999999999E+125", "-1e125", "-1234567", "-124", "-123.45", "-123.4", "-123", "-120", "-100", "-99", "-12", "-11", "-10.1", "-10",
		"-9", "-1.01", "-1", "-0.99", "-0.011", "-0.0101", "-0.01", "-1.1e-130", "-1e-130", "0", "1e-130", "1.1e-130", "0.01", "0.0101", "0.011", "0.99", "1", "1.01",
		"9", "10", "10.1", "11", "12", "99", "100", "120", "123", "123.4", "123.45", "124", "1234567", "1e125", "9.9999999999999999999999999999999999999E+125",
	}
	for i, x := range ascending {
		for j, y := range ascending {
			a, b := num(t, x), num(t, y)
			if got, _ := item.Compare(a, b); got != cmp.Compare(i, j) {
				t.Errorf("%s against %s: %d", x, y, got)
			}
			if got := bytes.Compare(item.AppendKey(nil, a), item.AppendKey(nil, b)); got != cmp.Compare(i, j) {
				t.Errorf("the key of %s against that of %s: %d", x, y, got)
			}
		}
	}
}

// rangeError returns DynamoDB's error for a result, or "".
func rangeError(r *big.Rat) string {
	if r.Sign() == 0 {
		return ""
	}
	digits := new(big.Rat).Mul(r, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(260), nil)))
	text := strings.TrimPrefix(digits.Num().String(), "-") // times 10^260, so that it is a whole number
	exp := len(text) - 1 - 260
	switch significant := strings.TrimRight(text, "0"); {
	case exp > 125:
		return overflow
	case exp < -130:
		return underflow
	case len(significant) > 38:
		return tooPrecise
	default:
		return ""
	}
}

func TestArithmeticIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := itemtest.Number().Draw(t, "x"), itemtest.Number().Draw(t, "y")
		if rapid.Bool().Draw(t, "near") { // so that digits cancel out
			y = x + "1"
			if strings.ContainsAny(x, "eE") {
				y = strings.Replace(x, ".", ".1", 1)
			}
		}
		a, err := item.Num(x)
		if err != nil {
			t.Fatal(err)
		}
		b, err := item.Num(y)
		if err != nil {
			t.Skip("too long")
		}
		for name, c := range map[string]struct {
			do   func(a, b item.Value) (item.Value, error)
			want *big.Rat
		}{
			"+": {item.Add, new(big.Rat).Add(exact(t, x), exact(t, y))},
			"-": {item.Sub, new(big.Rat).Sub(exact(t, x), exact(t, y))},
		} {
			got, err := c.do(a, b)
			if want := rangeError(c.want); itemtest.Message(t, err) != want {
				t.Fatalf("%s %s %s: %v, not %s", x, name, y, err, want)
			}
			if err == nil && exact(t, got.Text()).Cmp(c.want) != 0 {
				t.Fatalf("%s %s %s is %s", x, name, y, got.Text())
			}
		}
	})
}

func TestArithmetic(t *testing.T) {
	nines := strings.Repeat("9", 38)
	for _, c := range []struct{ x, y, sum, diff string }{
		{"1", "1", "2", "0"},
		{"0", "5", "5", "-5"},
		{"5", "0", "5", "5"},
		{"0", "0", "0", "0"},
		{"-5", "5", "0", "-10"},
		{"0.1", "0.2", "0.3", "-0.1"},
		{"1e38", "1", tooPrecise, nines},
		{"1e39", "1", tooPrecise, tooPrecise},
		{"1e125", "1e-130", tooPrecise, tooPrecise},
		{nines, "1", "1" + strings.Repeat("0", 38), nines[:37] + "8"},
		{"1.00001e89", "9." + nines[1:] + "e125", overflow, tooPrecise},
		{"9e125", "1e125", overflow, "8" + strings.Repeat("0", 125)},
		{"1.1e-130", "1e-130", "0." + strings.Repeat("0", 129) + "21", underflow},
	} {
		for op, want := range map[string]string{"+": c.sum, "-": c.diff} {
			do := item.Add
			if op == "-" {
				do = item.Sub
			}
			v, err := do(num(t, c.x), num(t, c.y))
			got := v.Text()
			if err != nil {
				got = itemtest.Message(t, err)
			}
			if got != want {
				t.Errorf("%s %s %s is %s, not %s", c.x, op, c.y, got, want)
			}
		}
	}
}

func TestInt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64().Draw(t, "n")
		if got := item.Int(n).Text(); got != strconv.FormatInt(n, 10) {
			t.Fatalf("%d became %s", n, got)
		}
	})
}

package partiql_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/jsonscan"
	"github.com/weirhq/weir/dynamotest/internal/partiql"
)

// params returns the values of a list in DynamoDB's JSON.
func params(t testing.TB, text string) []item.Value {
	t.Helper()
	if text == "" {
		return nil
	}
	var d item.Decoder
	values, err := d.List(jsonscan.New([]byte(text)), nil)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func TestParse(t *testing.T) {
	for _, x := range []struct{ text, params, table, want string }{
		{`INSERT INTO "a-b.c" VALUE {'pk': ?, 'n': ?}`, `[{"S":"x"},{"N":"1.50"}]`, "a-b.c", `{"n":{"N":"1.5"},"pk":{"S":"x"}}`},
		{`insert into t_1$ value{'b':'it''s ? -- /* "x"','a':''};`, "", "t_1$", `{"a":{"S":""},"b":{"S":"it's ? -- /* \"x\""}}`},
		{"\n-- first\nInsert /* a */ Into\tt Value{ 'é 🙂' : TRUE , 'f':False, 'n' :nULL}--", "", "t", `{"f":{"BOOL":false},"n":{"NULL":true},"é 🙂":{"BOOL":true}}`},
		{`INSERT INTO "x""y" VALUE {}`, "", `x"y`, `{}`},
		{`INSERT INTO t VALUE {'a': 1, 'b': -0.50, 'c': +1e3, 'd': 1E-2, 'e': 007, 'f': 5.}`, "", "t", `{"a":{"N":"1"},"b":{"N":"-0.5"},"c":{"N":"1000"},"d":{"N":"0.01"},"e":{"N":"7"},"f":{"N":"5"}}`},
		{`INSERT INTO t VALUE {'l': [1, [], {'x': ?}, ?], 'm': {'z': {}, 'y': ?}}`, `[{"S":"1"},{"SS":["b","a"]},{"M":{"q":{"NULL":true}}}]`, "t", `{"l":{"L":[{"N":"1"},{"L":[]},{"M":{"x":{"S":"1"}}},{"SS":["a","b"]}]},"m":{"M":{"y":{"M":{"q":{"NULL":true}}},"z":{"M":{}}}}}`},
		{`INSERT INTO t VALUE {'s': <<'b', 'a'>>, 'n': << 2,1 >>}`, "", "t", `{"n":{"NS":["1","2"]},"s":{"SS":["a","b"]}}`},
		{`INSERT INTO t VALUE {'z': ?, 'a': ?, 'm': ?}`, `[{"N":"1"},{"N":"2"},{"B":"YQ=="}]`, "t", `{"a":{"N":"2"},"m":{"B":"YQ=="},"z":{"N":"1"}}`},
	} {
		in, err := partiql.Parse(x.text)
		if err != nil {
			t.Errorf("%s: %v", x.text, err)
			continue
		}
		it, err := in.Item(params(t, x.params))
		if err != nil || it.String() != x.want || in.Table() != x.table {
			t.Errorf("%s:\n%s of %q, %v, wanted\n%s of %q", x.text, it, in.Table(), err, x.want, x.table)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	const malformed = "Statement wasn't well formed, can't be processed: "
	deep := func(n int) string {
		return "INSERT INTO t VALUE {'a': " + strings.Repeat("[", n) + strings.Repeat("]", n) + "}"
	}
	for text, want := range map[string]string{
		"":                                             malformed + "expected INSERT, got the end",
		"  -- nothing":                                 malformed + "expected INSERT, got the end",
		"garbage in":                                   malformed + "expected INSERT, got garbage in",
		"INSERT t VALUE {}":                            malformed + "expected INTO, got t VALUE {}",
		"INSERT INTO VALUE {}":                         malformed + "expected VALUE, got {}",
		"INSERT INTO 't' VALUE {}":                     malformed + "expected a table's name, got 't' VALUE {}",
		`INSERT INTO "t VALUE {}`:                      malformed + "a table's name has no end",
		`INSERT INTO t."i" VALUE {}`:                   malformed + `expected VALUE, got ."i" VALUE {}`,
		"INSERT INTO t VALUES ({})":                    malformed + "expected VALUE, got VALUES ({})",
		"INSERT INTO t << {} >>":                       malformed + "expected VALUE, got << {} >>",
		"INSERT INTO t VALUE ?":                        malformed + "expected {, got ?",
		"INSERT INTO t VALUE {} {}":                    malformed + "expected the end, got {}",
		"INSERT INTO t VALUE {};;":                     malformed + "expected the end, got ;",
		"INSERT INTO t VALUE {} RETURNING ALL OLD *":   malformed + "expected the end, got RETURNING ALL OLD *",
		"INSERT INTO t VALUE {} /* x":                  malformed + "a comment has no end",
		"INSERT INTO t VALUE {a: 1}":                   malformed + "expected an attribute's name in single quotes, got a: 1}",
		`INSERT INTO t VALUE {"a": 1}`:                 malformed + `expected an attribute's name in single quotes, got "a": 1}`,
		"INSERT INTO t VALUE {'a' 1}":                  malformed + "expected :, got 1}",
		"INSERT INTO t VALUE {'a': 1 'b': 2}":          malformed + "expected ,, got 'b': 2}",
		"INSERT INTO t VALUE {'a': 1,}":                malformed + "expected an attribute's name in single quotes, got }",
		"INSERT INTO t VALUE {'a': 1":                  malformed + "expected ,, got the end",
		"INSERT INTO t VALUE {'a': }":                  malformed + "expected a value, got }",
		"INSERT INTO t VALUE {'a': x}":                 malformed + "expected a value, got x}",
		"INSERT INTO t VALUE {'a': MISSING}":           malformed + "expected a value, got MISSING}",
		"INSERT INTO t VALUE {'a': `x`}":               malformed + "expected a value, got `x`}",
		"INSERT INTO t VALUE {'a': 12x}":               malformed + "expected a number, got 12x}",
		"INSERT INTO t VALUE {'a': -}":                 malformed + "expected a value, got -}",
		"INSERT INTO t VALUE {'a': 'b}":                malformed + "a string has no end",
		"INSERT INTO t VALUE {'a': 1, 'b': 2, 'a': 3}": malformed + "the attribute a is there twice",
		"INSERT INTO t VALUE {'m': {'x': ?, 'x': ?}}":  malformed + "the attribute x is there twice",
		"INSERT INTO t VALUE {'a': <<1, 'x'>>}":        malformed + "a set has strings alone or numbers alone",
		"INSERT INTO t VALUE {'a': <<true>>}":          malformed + "a set has strings alone or numbers alone",
		"INSERT INTO t VALUE {'a': <<?>>}":             malformed + "expected a value, got ?>>}",
		"INSERT INTO t VALUE {'a': <<>>}":              "Empty bags are not supported",
		"INSERT INTO t VALUE {'a': <<1, 1.0>>}":        "Input collection contains duplicates",
		"INSERT INTO t VALUE {'a': 1e126}":             "Number overflow. Attempting to store a number with magnitude larger than supported range",
		"INSERT INTO t VALUE {'a': 'äöüäöüäöüäöü' 'äöüäöüäöüäöüäöüäöü' }": malformed + "expected ,, got 'äöüäöüäöü...",
		deep(33): item.TooDeep().Message,
	} {
		_, err := partiql.Parse(text)
		var e *item.Error
		if !errors.As(err, &e) || e.Code != item.Validation || e.Message != want {
			t.Errorf("%s: %v, wanted %s", text, err, want)
		}
	}
	if _, err := partiql.Parse(deep(32)); err != nil {
		t.Error(err)
	}
}

func TestUnsupported(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT * FROM t": "the PartiQL statement SELECT", "\tupdate t": "the PartiQL statement UPDATE", "/**/delete": "the PartiQL statement DELETE",
		"EXISTS(SELECT 1)": "the PartiQL statement EXISTS", "INSERT INTO t VALUE {} ON CONFLICT DO NOTHING": "ON CONFLICT of the PartiQL statement INSERT",
	} {
		_, err := partiql.Parse(text)
		var u *partiql.Unsupported
		if !errors.As(err, &u) || u.What != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestParameters(t *testing.T) {
	in, err := partiql.Parse("INSERT INTO t VALUE {'a': ?, 'l': [[?]]}")
	if err != nil {
		t.Fatal(err)
	}
	nested := func(n int) string {
		return strings.Repeat(`{"L":[`, n) + `{"NULL":true}` + strings.Repeat(`]}`, n)
	}
	for list, want := range map[string]string{
		``: "Number of parameters", `[{"N":"1"}]`: "Number of parameters", `[{"N":"1"},{"N":"1"},{"N":"1"}]`: "Number of parameters",
		`[{"N":"1"},` + nested(30) + `]`: "Nesting Levels", `[{"N":"1"},` + nested(29) + `]`: "", `[` + nested(31) + `,{"N":"1"}]`: "",
	} {
		_, err := in.Item(params(t, list))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", list, err)
		}
	}
}

// FuzzParse: no text panics. Each rejection is one of the two errors. An accepted statement gives
// an item that can be decoded again, and the same item with space and comments around each token.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`INSERT INTO "t" VALUE {'pk': ?, 'sk': 'it''s', 'n': -1.5e2, 'x': [true, null, {'a': <<1, 2>>}], 's': <<'a'>>};`,
		"insert into t value{}", "INSERT INTO t VALUE {'a': {'b': ?}} -- x", "SELECT 1", "INSERT INTO t VALUE {'a': 1 /*", "INSERT INTO \"", "INSERT INTO t VALUE {'", "<<",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "?") // as the JSON decoder returns it
		in, err := partiql.Parse(text)
		if err != nil {
			var e *item.Error
			var u *partiql.Unsupported
			if !errors.As(err, &u) && (!errors.As(err, &e) || e.Code != item.Validation) {
				t.Fatal(err)
			}
			return
		}
		it, err := fill(t, in)
		if err != nil {
			t.Fatal(err)
		}
		var d item.Decoder
		if again, err := d.Item(jsonscan.New([]byte(it.String()))); err != nil || again != it {
			t.Fatalf("%s is %s again: %v", it, again, err)
		}
		more, err := partiql.Parse("/* ? */ " + text + "\n-- '")
		if err != nil {
			t.Fatal(err)
		}
		if same, err := fill(t, more); err != nil || same != it || more.Table() != in.Table() {
			t.Fatalf("%s became %s: %v", it, same, err)
		}
	})
}

// fill gives the statement as many parameters as it has question marks.
func fill(t *testing.T, in *partiql.Insert) (item.Item, error) {
	var values []item.Value
	for {
		it, err := in.Item(values)
		if err == nil || len(values) > 10_000 {
			return it, err
		}
		values = append(values, item.Null())
	}
}

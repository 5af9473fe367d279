package expr_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/dynamotest/internal/expr"
	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/item/itemtest"
)

const (
	wrongType = "An operand in the update expression has an incorrect data type"
	noAttr    = "The provided expression refers to an attribute that does not exist in the item"
	badPath   = "The document path provided in the update expression is invalid for update"
	tooDeep   = "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
)

func TestApply(t *testing.T) {
	const before = `{"pk":{"S":"k"},"n":{"N":"5"},"s":{"S":"x"},"l":{"L":[{"N":"0"},{"N":"1"},{"N":"2"},{"N":"3"}]},"m":{"M":{"a":{"N":"1"},"b":{"M":{"c":{"L":[{"S":"c0"}]}}}}},` +
		`"ss":{"SS":["a","b"]},"ns":{"NS":["1","2"]},"e":{"L":[]}}`
	values := parse(t, `{":1":{"N":"1"},":2":{"N":"2.50"},":s":{"S":"new"},":ab":{"SS":["b","a"]},":bc":{"SS":["b","c"]},":ns":{"NS":["2","3"]},":l":{"L":[{"S":"y"}]},":e":{"L":[]},":38":{"N":"99999999999999999999999999999999999999"},":m":{"M":{}}}`)
	for _, c := range []struct{ text, want string }{ // want: the changed attributes, or the error
		{"SET n = :1", `{"n":{"N":"1"}}`},
		{"set n = n + :2", `{"n":{"N":"7.5"}}`},
		{"SET n = n - :2", `{"n":{"N":"2.5"}}`},
		{"SET n = :1 - n", `{"n":{"N":"-4"}}`},
		{"SET n = (:1 + :1)", `{"n":{"N":"2"}}`},
		{"SET n = (n) + (:1)", `{"n":{"N":"6"}}`},
		{"SET a = n, n = s, s = n", `{"a":{"N":"5"},"n":{"S":"x"},"s":{"N":"5"}}`}, // operands are values of the old item
		{"SET a = :1, z = a", noAttr},
		{"SET a = nothing", noAttr},
		{"SET a = nothing + :1", noAttr},
		{"SET a = s + :1", wrongType},
		{"SET a = :1 - m", wrongType},
		{"SET n = n + :38", "Attempting to store more than 38 significant digits in a Number"},
		{"SET a = if_not_exists(n, :1)", `{"a":{"N":"5"}}`},
		{"SET a = if_not_exists(nothing, :1)", `{"a":{"N":"1"}}`},
		{"SET a = if_not_exists(nothing, if_not_exists(never, n))", `{"a":{"N":"5"}}`},
		{"SET a = if_not_exists(nothing, never)", noAttr},
		{"SET a = if_not_exists(m.b.c[1], :1) + n", `{"a":{"N":"6"}}`},
		{"SET a = list_append(l, :l)", `{"a":{"L":[{"N":"0"},{"N":"1"},{"N":"2"},{"N":"3"},{"S":"y"}]}}`},
		{"SET a = list_append(:l, :e)", `{"a":{"L":[{"S":"y"}]}}`},
		{"SET a = list_append(if_not_exists(a, :e), :l)", `{"a":{"L":[{"S":"y"}]}}`},
		{"SET a = if_not_exists(a, list_append(:l, :l))", `{"a":{"L":[{"S":"y"},{"S":"y"}]}}`},
		{"SET a = list_append(n, :l)", wrongType},
		{"SET a = list_append(nothing, :l)", noAttr},
		{"SET l[1] = :s", `{"l":{"L":[{"N":"0"},{"S":"new"},{"N":"2"},{"N":"3"}]}}`},
		{"SET l[9] = :s", `{"l":{"L":[{"N":"0"},{"N":"1"},{"N":"2"},{"N":"3"},{"S":"new"}]}}`},
		{"SET l[84] = :1, l[37] = :2, l[4] = :s, l[50] = :e", `{"l":{"L":[{"N":"0"},{"N":"1"},{"N":"2"},{"N":"3"},{"S":"new"},{"N":"2.5"},{"L":[]},{"N":"1"}]}}`},
		{"SET e[0] = :1", `{"e":{"L":[{"N":"1"}]}}`},
		{"REMOVE l[1] SET l[3] = :s", `{"l":{"L":[{"N":"0"},{"N":"2"},{"S":"new"}]}}`}, // indexes are those of the old list
		{"SET l[3] = :s REMOVE l[1], l[0]", `{"l":{"L":[{"N":"2"},{"S":"new"}]}}`},
		{"SET l[7] = :s REMOVE l[0], l[2], l[3], l[1]", `{"l":{"L":[{"S":"new"}]}}`},
		{"REMOVE l[0], l[1], l[2], l[3]", `{"l":{"L":[]}}`},
		{"REMOVE l[17]", `{}`},
		{"REMOVE l[4], e[0] SET l[5] = :1, e[1] = :1", `{"l":{"L":[{"N":"0"},{"N":"1"},{"N":"2"},{"N":"3"},{"N":"1"}]},"e":{"L":[{"N":"1"}]}}`}, // removals do not remove appended elements
		{"SET m.a = :s, m.z = :1", `{"m":{"M":{"a":{"S":"new"},"b":{"M":{"c":{"L":[{"S":"c0"}]}}},"z":{"N":"1"}}}}`},
		{"SET m.b.c[0] = :1, m.b.c[1] = m.a REMOVE m.a", `{"m":{"M":{"b":{"M":{"c":{"L":[{"N":"1"},{"N":"1"}]}}}}}}`},
		{"SET m = :m", `{"m":{"M":{}}}`},
		{"REMOVE m.a, m.b", `{"m":{"M":{}}}`},
		{"REMOVE m.nothing, nothing", `{}`},
		{"REMOVE s.a", badPath},
		{"REMOVE nothing.a", badPath},
		{"REMOVE m[0]", badPath},
		{"REMOVE m.b.x.y", badPath},
		{"SET s.a = :1", badPath},
		{"SET l.a = :1", badPath},
		{"SET m[0] = :1", badPath},
		{"SET nothing.a = :1", badPath},
		{"SET nothing[0] = :1", badPath},
		{"SET m.x.y = :1", badPath},
		{"SET l[8].a = :1", badPath},
		{"ADD n :2", `{"n":{"N":"7.5"}}`},
		{"ADD z :2", `{"z":{"N":"2.5"}}`},
		{"ADD m.a :1, m.y :1", `{"m":{"M":{"a":{"N":"2"},"b":{"M":{"c":{"L":[{"S":"c0"}]}}},"y":{"N":"1"}}}}`},
		{"ADD l[1] :2", `{"l":{"L":[{"N":"0"},{"N":"3.5"},{"N":"2"},{"N":"3"}]}}`},
		{"ADD ss :bc", `{"ss":{"SS":["a","b","c"]}}`},
		{"ADD z :bc", `{"z":{"SS":["b","c"]}}`},
		{"ADD ns :ns, z :1", `{"ns":{"NS":["1","2","3"]},"z":{"N":"1"}}`},
		{"ADD ss :ns", wrongType},
		{"ADD n :ns", wrongType},
		{"ADD s :1", wrongType},
		{"ADD nothing.x :1", badPath},
		{"DELETE ss :bc", `{"ss":{"SS":["a"]}}`},
		{"DELETE ss :ab", `{"ss":null}`},
		{"DELETE z :ab", `{}`},
		{"DELETE m.z :ab", `{}`},
		{"DELETE nothing.z :ab", badPath},
		{"DELETE ns :ab", wrongType},
		{"DELETE s :ab", wrongType},
		{"SET a = :1 REMOVE n ADD z :1 DELETE ss :bc", `{"a":{"N":"1"},"n":null,"z":{"N":"1"},"ss":{"SS":["a"]}}`},
		{"DELETE ss :bc ADD z :1 REMOVE n SET a = :1", `{"a":{"N":"1"},"n":null,"z":{"N":"1"},"ss":{"SS":["a"]}}`},
		{"ReMoVe n,s", `{"n":null,"s":null}`},
	} {
		old := parse(t, before)
		u, err := update(c.text, nil, values)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		got, err := u.Apply(old, old.Only("pk"))
		if c.want[0] != '{' {
			if itemtest.Message(t, err) != c.want {
				t.Errorf("%s\ngot  %v\nwant %s", c.text, err, c.want)
			}
			continue
		}
		want := old
		for name, v := range parse(t, strings.ReplaceAll(c.want, ":null", `:{"S":"none"}`)).All() {
			if v == item.Str("none") {
				v = item.Value{}
			}
			want = want.With(name, v)
		}
		if err != nil || got != want {
			t.Errorf("%s\ngot  %s, %v\nwant %s", c.text, got, err, want)
		}
		if old != parse(t, before) {
			t.Fatalf("%s changed the old item", c.text)
		}
	}
}

func TestApplyToNoItem(t *testing.T) {
	pk := parse(t, `{"pk":{"S":"k"}}`)
	for _, c := range []struct{ text, want string }{
		{"SET a = :n", `{"a":{"N":"1"},"pk":{"S":"k"}}`},
		{"ADD a :n", `{"a":{"N":"1"},"pk":{"S":"k"}}`},
		{"SET a = if_not_exists(a, :n) + :n REMOVE b.c, d[0]", `{"a":{"N":"2"},"pk":{"S":"k"}}`},
		{"SET a = a + :n", noAttr},
		{"SET a.b = :n", badPath},
		{"REMOVE a", `{}`},
		{"REMOVE a.b", `{}`},
		{"DELETE a :s", `{}`},
		{"SET b = :n DELETE a.c :s", `{"b":{"N":"1"},"pk":{"S":"k"}}`},
	} {
		u, err := update(c.text, nil, parse(t, `{":n":{"N":"1"},":s":{"SS":["x"]}}`))
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		got, err := u.Apply(item.Item{}, pk)
		if out := got.String(); err == nil && out != c.want || err != nil && itemtest.Message(t, err) != c.want {
			t.Errorf("%s\ngot  %s, %v\nwant %s", c.text, out, err, c.want)
		}
	}
}

func TestApplyTooDeep(t *testing.T) {
	deep := func(n int) string { // n nested maps
		return strings.Repeat(`{"M":{"n":`, n) + `{"S":"leaf"}` + strings.Repeat(`}}`, n)
	}
	old := parse(t, `{"a":`+deep(16)+`,"b":`+deep(14)+`,"c":`+deep(15)+`}`)
	path := "a" + strings.Repeat(".n", 16)
	for _, c := range []struct{ text, want string }{
		{"SET " + path + ".y = b", badPath}, // the parent is a string
		{"SET " + strings.TrimSuffix(path, ".n") + ".y = b", ""},
		{"SET " + strings.TrimSuffix(path, ".n") + ".y = c", ""},
		{"SET " + strings.TrimSuffix(path, ".n") + ".y = a", tooDeep},
	} {
		u, err := update(c.text, nil, item.Item{})
		if err != nil {
			t.Fatal(err)
		}
		after, err := u.Apply(old, item.Item{})
		if itemtest.Message(t, err) != c.want {
			t.Errorf("%s\ngot  %v\nwant %s", c.text, err, c.want)
		}
		if err == nil && parse(t, after.String()) != after { // the decoder has the same limit
			t.Errorf("%s cannot be read again", c.text)
		}
	}
}

// TestUpdateRefused lists the messages without "Invalid UpdateExpression: ".
func TestUpdateRefused(t *testing.T) {
	const (
		notAllowed = "The function is not allowed to be used this way in an expression; function: "
		count      = "Incorrect number of operands for operator or function; operator or function: "
		kind       = "Incorrect operand type for operator or function; operator"
		rewrite    = "; must remove or rewrite one of these paths; path one: "
		overlap    = "Two document paths overlap with each other" + rewrite
		conflict   = "Two document paths conflict with each other" + rewrite
		noName     = "An expression attribute name used in the document path is not defined; attribute name: "
		noValue    = "An expression attribute value used in expression is not defined; attribute value: "
	)
	values := parse(t, `{":s":{"S":"a"},":n":{"N":"1"},":b":{"B":"YQ=="},":t":{"BOOL":true},":0":{"NULL":true},":l":{"L":[]},":m":{"M":{}},":ss":{"SS":["a"]},":ns":{"NS":["1"]}}`)
	names := expr.Names{"#a": "a", "#c": "c", "#3": "[3]"}
	for _, c := range []struct{ text, want string }{
		{"INVALID SYNTAX HERE", `Syntax error; token: "INVALID", near: "INVALID SYNTAX"`},
		{"set a", `Syntax error; token: "<EOF>", near: "a"`},
		{"SET a = :s,", `Syntax error; token: "<EOF>", near: ","`},
		{"set a = set", `Syntax error; token: "set", near: "= set"`},
		{"remove a = b", `Syntax error; token: "=", near: "a = b"`},
		{"ADD hits : incr", `Syntax error; token: ":", near: "hits : incr"`},
		{"add a = b", `Syntax error; token: "=", near: "a = b"`},
		{"delete a b", `Syntax error; token: "b", near: "a b"`},
		{"remove a b", `Syntax error; token: "b", near: "a b"`},
		{"set :s = b", `Syntax error; token: ":s", near: "set :s ="`},
		{"set a = b / c", `Syntax error; token: "/", near: "b / c"`},
		{"set a[1] = 1", `Syntax error; token: "1", near: "= 1"`},
		{`set a = "x"`, `Syntax error; token: """, near: "= "x"`},
		{"SET if_not_exist(a, b) = a", `Syntax error; token: "(", near: "if_not_exist(a"`},
		{"set (a = b)", `Syntax error; token: "(", near: "set (a"`},
		{"set a = (b.c).d + e", `Syntax error; token: ".", near: ").d"`},
		{"set a = b + c + d", `Syntax error; token: "+", near: "c + d"`},
		{"set a = (b + c) + d", `Syntax error; token: "+", near: ") + d"`},
		{"set a = if_not_exists(c, :n+:n)", `Syntax error; token: "+", near: ":n+:n"`},
		{"set a[:n] = :n", `Syntax error; token: ":n", near: "[:n]"`},
		{"set a = _f(b,c)", `Syntax error; token: "_", near: "= _f"`},
		{"set a = :n, remove b", `Syntax error; token: "remove", near: ", remove b"`},
		{"set a.set = :n", `Syntax error; token: "set", near: ".set ="`},

		{" set #c = :c set abOrt = true ", "Attribute name is a reserved keyword; reserved keyword: abOrt"},
		{" remove Absolute ", "Attribute name is a reserved keyword; reserved keyword: Absolute"},
		{"set #x = if_not_exist(:x) set c = d", "Invalid function name; function: if_not_exist"},
		{"set a = LIST_APPEND(:l, :l)", "Invalid function name; function: LIST_APPEND"},
		{"set a = list_append(list_append(:l, :l), :l)", notAllowed + "list_append"},
		{"set a = size(b)", notAllowed + "size"},
		{"set a = attribute_exists(b)", notAllowed + "attribute_exists"},
		{"set a = b + size(b)", notAllowed + "size"},
		{"set a = if_not_exists(a, size(b))", notAllowed + "size"},
		{"set a = #x set c = :x", `The "SET" section can only be used once in an update expression;`},
		{"remove #x set a = b remove e", `The "REMOVE" section can only be used once in an update expression;`},
		{"add #x :x set a = b add e :f", `The "ADD" section can only be used once in an update expression;`},
		{"delete #x :x set a = b delete #x :x", `The "DELETE" section can only be used once in an update expression;`},

		{"set a = :x, b = if_not_exists(#x)", noName + "#x"},
		{"set #a = if_not_exists(:x)", noValue + ":x"},
		{"set d[1] = a, d.b = a, c[1].a = a, #c = if_not_exists(a)", overlap + "[c, [1], a], path two: [c]"},
		{"set #c[3].#3 = a, #c[3] = a", overlap + "[c, [3], [3]], path two: [c, [3]]"},
		{"set a = :n remove a", overlap + "[a], path two: [a]"},
		{"set #c[3].#3 = a, #c.#3[3] = if_not_exists(a)", conflict + "[c, [3], [3]], path two: [c, [3], [3]]"},
		{"remove a.#c set a[1] = :n", conflict + "[a, c], path two: [a, [1]]"},
		{"set a[1] = :n, a[2] = :n, a[10].x = :n, a[10].y = :n", ""},

		{"set b = list_append(:s, a), c = if_not_exists(a) add a.b :s", kind + ": ADD, operand type: STRING"},
		{"delete a.b :s", kind + ": DELETE, operand type: STRING"},
		{"add a.b :0", kind + ": ADD, operand type: NULL"},
		{"add a :t", kind + ": ADD, operand type: BOOLEAN"},
		{"add a :b", kind + ": ADD, operand type: BINARY"},
		{"delete a :m", kind + ": DELETE, operand type: MAP"},
		{"delete a :l", kind + ": DELETE, operand type: LIST"},
		{"delete a :n", kind + ": DELETE, operand type: NUMBER"},
		{"add a :n, b :ss, c :ns delete d :ss", ""},

		{"set a = if_not_exists(c)", count + "if_not_exists, number of operands: 1"},
		{"set a = list_append(c)", count + "list_append, number of operands: 1"},
		{"set a = list_append(:l, :l, :l)", count + "list_append, number of operands: 3"},
		{"set a = if_not_exists(:s, c)", "Operator or function requires a document path; operator or function: if_not_exists"},
		{"set a = if_not_exists(if_not_exists(a, b), c)", "Operator or function requires a document path; operator or function: if_not_exists"},
		{"set a = list_append(:s, a)", kind + " or function: list_append, operand type: S"},
		{"set a = list_append(a, :ss)", kind + " or function: list_append, operand type: SS"},
		{"set a = a + :s", kind + " or function: +, operand type: S"},
		{"set a = :b - a", kind + " or function: -, operand type: B"},
		{"set a = :n + :l", kind + " or function: +, operand type: L"},

		{"remove a" + strings.Repeat(".a", 32), "The document path has too many nesting elements; nesting elements: 33"},
		{"set a = " + strings.Repeat("if_not_exists(a,", 150) + ":n" + strings.Repeat(")", 150), ""},
		{"set a = " + strings.Repeat("if_not_exists(a,", 201) + ":n" + strings.Repeat(")", 201), ""},
		{"remove a" + strings.Repeat(" ", 4089), "Expression size has exceeded the maximum allowed size; expression size: 4097"},
	} {
		want := c.want
		if want != "" {
			want = "Invalid UpdateExpression: " + want
		}
		if _, err := update(c.text, names, values); itemtest.Message(t, err) != want {
			t.Errorf("%.200s\ngot  %v\nwant %s", c.text, err, want)
		}
	}
}

func TestUpdateOfKeys(t *testing.T) {
	u, err := update("SET a = pk.x, #s = :n1 ADD c[0] :n1", bicycleNames(), parse(t, bicycleValues))
	if err != nil {
		t.Fatal(err)
	}
	const part = "One or more parameter values were invalid: Cannot update attribute "
	const scalars = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "
	for i, c := range []struct {
		err  error
		want string
	}{
		{u.CheckKeys("pk", "sk"), ""},
		{u.CheckKeys("pk", "status"), part + "status. This attribute is part of the key"},
		{u.CheckKeys("c"), part + "c. This attribute is part of the key"},
		{u.CheckScalars("Key", "a", "pk"), scalars + "Key: pk"},
		{u.CheckScalars("IndexKey", "c"), scalars + "IndexKey: c"},
		{u.CheckScalars("IndexKey", "a", "status"), ""},
	} {
		if got := itemtest.Message(t, c.err); got != c.want {
			t.Errorf("%d\ngot  %s\nwant %s", i, got, c.want)
		}
	}
}

func TestTouched(t *testing.T) {
	old := parse(t, `{"pk":{"S":"k"},"a":{"M":{"b":{"S":"dog"},"c":{"L":[{"N":"1"},{"N":"2"},{"N":"3"}]}}},"d":{"S":"cat"}}`)
	for _, c := range []struct{ text, old, new string }{
		{"SET a.b = :v", `{"a":{"M":{"b":{"S":"dog"}}}}`, `{"a":{"M":{"b":{"S":"hi"}}}}`},
		{"SET a.c[1] = :v", `{"a":{"M":{"c":{"L":[{"N":"2"}]}}}}`, `{"a":{"M":{"c":{"L":[{"S":"hi"}]}}}}`},
		{"SET a.c[1] = :v, a.b = :v", `{"a":{"M":{"b":{"S":"dog"},"c":{"L":[{"N":"2"}]}}}}`, `{"a":{"M":{"b":{"S":"hi"},"c":{"L":[{"S":"hi"}]}}}}`},
		{"SET d = :v, e = :v", `{"d":{"S":"cat"}}`, `{"d":{"S":"hi"},"e":{"S":"hi"}}`},
		{"SET e = :v REMOVE d", `{"d":{"S":"cat"}}`, `{"e":{"S":"hi"}}`},
		{"REMOVE x, a.x", `{}`, `{}`},
	} {
		var values item.Item
		if strings.Contains(c.text, ":v") {
			values = parse(t, `{":v":{"S":"hi"}}`)
		}
		u, err := update(c.text, nil, values)
		if err != nil {
			t.Fatal(err)
		}
		after, err := u.Apply(old, old.Only("pk"))
		if err != nil {
			t.Fatal(err)
		}
		if got := u.Touched().Of(old).String(); got != c.old {
			t.Errorf("%s: of the old item %s, not %s", c.text, got, c.old)
		}
		if got := u.Touched().Of(after).String(); got != c.new {
			t.Errorf("%s: of the new item %s, not %s", c.text, got, c.new)
		}
	}
}

// apply applies a valid update. It returns false if the update cannot be applied to the item.
func apply(t *rapid.T, text string, it item.Item, values ...item.Attr) (item.Item, bool) {
	u, err := update(text, nil, item.Of(values...))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	after, err := u.Apply(it, item.Item{}.With("pk", item.Str("k")))
	return after, err == nil
}

func TestUpdateAlgebra(t *testing.T) {
	name := rapid.SampledFrom([]string{"a", "b", "c", "pk.x", "a.b", "a[1]", "c.d[0]"})
	rapid.Check(t, func(t *rapid.T) {
		it := itemtest.Item(2).Draw(t, "item")
		p, v := name.Draw(t, "path"), item.Attr{Name: ":v", Value: itemtest.Value(1).Draw(t, "v")}
		get, err := projection(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		there := get.Of(it).Len() > 0

		if after, ok := apply(t, "set "+p+" = :v", it, v); ok && (there || !strings.HasSuffix(p, "]")) {
			is, err := condition(p+" = :v", nil, item.Of(v))
			if err != nil || !is.Holds(after) {
				t.Fatalf("%s set to %s: %s, %v", p, v.Value, after, err)
			}
			if again, _ := apply(t, "set "+p+" = :v", after, v); again != after {
				t.Fatalf("set twice: %s", again)
			}
			if there {
				if back, ok := apply(t, "set "+p+" = if_not_exists("+p+", :v)", it, v); !ok || back != it {
					t.Fatalf("if_not_exists set %s, which exists: %s", p, back)
				}
			}
		}
		if after, ok := apply(t, "remove "+p, it); ok && !strings.HasSuffix(p, "]") {
			if again, ok := apply(t, "remove "+p, after); it.Len() > 0 && after.Len() > 0 && (!ok || again != after) {
				t.Fatalf("removed twice: %s", again)
			}
			if get.Of(after).Len() != 0 {
				t.Fatalf("%s exists after REMOVE: %s", p, after)
			}
			if !there && after != it {
				t.Fatalf("%s did not exist, but its REMOVE changed %s to %s", p, it, after)
			}
		}

		x, y := item.Attr{Name: ":v", Value: itemtest.Set().Draw(t, "x")}, item.Attr{Name: ":v", Value: itemtest.Set().Draw(t, "y")}
		if rapid.Bool().Draw(t, "numbers") {
			x.Value, y.Value = item.Int(rapid.Int64().Draw(t, "x")), item.Int(rapid.Int64().Draw(t, "y"))
		}
		one, ok := apply(t, "add "+p+" :v", it, x)
		other, ok2 := apply(t, "add "+p+" :v", it, y)
		if !ok || !ok2 || x.Value.Kind() != y.Value.Kind() || !there && strings.HasSuffix(p, "]") {
			return
		}
		one, _ = apply(t, "add "+p+" :v", one, y)
		if other, _ = apply(t, "add "+p+" :v", other, x); one != other {
			t.Fatalf("%s and %s in both orders: %s and %s", x.Value, y.Value, one, other)
		}
		if x.Value.Kind() == item.N {
			return
		}
		gone, _ := apply(t, "delete "+p+" :v", one, x)
		if gone, _ = apply(t, "delete "+p+" :v", gone, y); !there && gone != it && it.Len() > 0 {
			t.Fatalf("added and deleted: %s became %s", it, gone)
		}
	})
}

package expr_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/dynamotest/internal/expr"
	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/item/itemtest"
)

// conditionModel draws a condition together with its meaning, a closure over the item. The closures
// are a second, simple evaluator.
type conditionModel struct {
	t      *rapid.T
	names  expr.Names
	values []item.Attr
}

// word returns a keyword in some mixture of cases.
func (d *conditionModel) word(w string) string {
	return rapid.SampledFrom([]string{w, strings.ToLower(w), w[:1] + strings.ToLower(w[1:])}).Draw(d.t, "spelling")
}

func (d *conditionModel) space() string {
	return rapid.SampledFrom([]string{" ", "  ", "\n", "\t "}).Draw(d.t, "space")
}

// value draws a placeholder and its value.
func (d *conditionModel) value(v item.Value) (string, item.Value) {
	name := fmt.Sprintf(":v%d", len(d.values))
	d.values = append(d.values, item.Attr{Name: name, Value: v})
	return name, v
}

// path draws a path and the function that reads its value.
func (d *conditionModel) path() (string, func(item.Item) item.Value) {
	element := func() (string, string) {
		name := itemtest.Name().Draw(d.t, "name")
		if len(name) == 1 && rapid.Bool().Draw(d.t, "literal") {
			return name, name
		}
		ref := fmt.Sprintf("#n%d", len(d.names))
		d.names[ref] = name
		return ref, name
	}
	text, name := element()
	get := func(it item.Item) item.Value { return it.Get(name) }
	for range rapid.IntRange(0, 2).Draw(d.t, "more") {
		before := get
		if rapid.Bool().Draw(d.t, "index") {
			i := rapid.IntRange(0, 3).Draw(d.t, "i")
			text += fmt.Sprintf("[%d]", i)
			get = func(it item.Item) item.Value { return before(it).Index(i) }
		} else {
			ref, name := element()
			text += "." + ref
			get = func(it item.Item) item.Value { return before(it).Item().Get(name) }
		}
	}
	return text, get
}

// operand draws an operand. If ordered is true, it can be compared with <.
func (d *conditionModel) operand(ordered bool) (string, func(item.Item) item.Value) {
	switch rapid.IntRange(0, 3).Draw(d.t, "operand") {
	case 0:
		g := itemtest.Value(1)
		if ordered {
			g = itemtest.Scalar()
		}
		text, v := d.value(g.Draw(d.t, "value"))
		return text, func(item.Item) item.Value { return v }
	case 1:
		text, get := d.path()
		return "size(" + text + ")", func(it item.Item) item.Value {
			if n := get(it).Len(); n >= 0 {
				return item.Int(int64(n))
			}
			return item.Value{}
		}
	default:
		return d.path()
	}
}

// comparison draws a condition without AND, OR and NOT.
func (d *conditionModel) comparison() (string, func(item.Item) bool) {
	o := rapid.SampledFrom([]string{"=", "<>", "<", "<=", ">", ">=", "between", "in", "exists", "not exists", "type", "contains", "begins"}).Draw(d.t, "operator")
	switch o {
	case "exists", "not exists":
		x, get := d.path()
		return map[string]string{"exists": "attribute_exists", "not exists": "attribute_not_exists"}[o] + "(" + x + ")",
			func(it item.Item) bool { return get(it).Exists() == (o == "exists") }
	case "type":
		x, get := d.path()
		kind := item.Kind(rapid.IntRange(int(item.S), int(item.BS)).Draw(d.t, "kind"))
		y, _ := d.value(item.Str(kind.String()))
		return "attribute_type(" + x + "," + y + ")", func(it item.Item) bool { return get(it).Kind() == kind }
	}
	x, left := d.operand(o != "=" && o != "<>" && o != "in" && o != "contains")
	if o == "begins" {
		x, left = d.path()
	}
	switch o {
	case "contains":
		y, right := d.operand(false)
		return "contains(" + x + ", " + y + ")", func(it item.Item) bool { return has(left(it), right(it)) }
	case "begins":
		y, v := d.value(itemtest.OfKind(rapid.SampledFrom([]item.Kind{item.S, item.B}).Draw(d.t, "kind")).Draw(d.t, "prefix"))
		return "begins_with(" + x + ", " + y + ")", func(it item.Item) bool {
			return left(it).Kind() == v.Kind() && strings.HasPrefix(left(it).Text(), v.Text())
		}
	case "between":
		y, low := d.operand(true)
		z, high := d.operand(true)
		return x + d.space() + d.word("BETWEEN") + " " + y + d.space() + d.word("AND") + " " + z, func(it item.Item) bool {
			a, ok := item.Compare(left(it), low(it))
			b, ok2 := item.Compare(left(it), high(it))
			return ok && ok2 && a >= 0 && b <= 0
		}
	case "in":
		var list []string
		var gets []func(item.Item) item.Value
		for range rapid.IntRange(1, 4).Draw(d.t, "of") {
			y, get := d.operand(false)
			list, gets = append(list, y), append(gets, get)
		}
		return x + " " + d.word("IN") + " (" + strings.Join(list, ",") + ")", func(it item.Item) bool {
			for _, get := range gets {
				if v := left(it); v.Exists() && v == get(it) {
					return true
				}
			}
			return false
		}
	}
	y, right := d.operand(o != "=" && o != "<>")
	return x + d.space() + o + d.space() + y, func(it item.Item) bool {
		a, b := left(it), right(it)
		order, ok := item.Compare(a, b)
		switch o {
		case "=":
			return a.Exists() && b.Exists() && a.String() == b.String()
		case "<>":
			return !a.Exists() || !b.Exists() || a.String() != b.String()
		case "<":
			return ok && order < 0
		case "<=":
			return ok && order <= 0
		case ">":
			return ok && order > 0
		default:
			return ok && order >= 0
		}
	}
}

func has(a, b item.Value) bool {
	switch {
	case a.Kind() == item.S || a.Kind() == item.B:
		return a.Kind() == b.Kind() && strings.Contains(a.Text(), b.Text())
	case a.Kind() == item.L || a.Kind().Element() != item.Missing:
		for e := range a.Elements() {
			if e.String() == b.String() {
				return true
			}
		}
	}
	return false
}

// condition draws a condition whose outermost operator binds at least as tightly as level: 0 is OR,
// 1 AND, 2 NOT, and 3 the others.
func (d *conditionModel) condition(level, depth int) (string, func(item.Item) bool) {
	what := 3
	if depth > 0 {
		what = rapid.IntRange(0, 3).Draw(d.t, "what")
	}
	var text string
	var holds func(item.Item) bool
	switch what {
	case 0, 1:
		x, left := d.condition(what, depth-1)
		y, right := d.condition(what+1, depth-1)
		text = x + d.space() + d.word([]string{"OR", "AND"}[what]) + d.space() + y
		holds = func(it item.Item) bool {
			if what == 0 {
				return left(it) || right(it)
			}
			return left(it) && right(it)
		}
	case 2:
		x, of := d.condition(2, depth-1)
		text, holds = d.word("NOT")+d.space()+x, func(it item.Item) bool { return !of(it) }
	default:
		text, holds = d.comparison()
	}
	if what < level {
		return "(" + text + ")", holds
	}
	return text, holds
}

// TestConditionAgainstModel draws conditions, prints them with as few brackets as possible, and
// compares their results with those of the model.
func TestConditionAgainstModel(t *testing.T) {
	met := [2]int{}
	rapid.Check(t, func(t *rapid.T) {
		d := &conditionModel{t: t, names: expr.Names{}}
		text, holds := d.condition(0, 3)
		values := item.Of(d.values...)
		b, err := condition(text, d.names, values)
		if err != nil {
			if m := err.Error(); strings.Contains(m, "must be distinct") || strings.Contains(m, "BETWEEN operator requires") || strings.Contains(m, "too many operators") || strings.Contains(m, "maximum allowed size") {
				t.Skip(m)
			}
			t.Fatalf("%s: %v", text, err)
		}
		for range 5 {
			it := itemtest.Item(2).Draw(t, "item")
			got := b.Holds(it)
			if got != holds(it) {
				t.Fatalf("%s\nof %s\nwith %v %s is %v", text, it, d.names, values, got)
			}
			met[map[bool]int{true: 1}[got]]++
		}
	})
	if met[0] == 0 || met[1] == 0 {
		t.Errorf("false %d times, true %d times", met[0], met[1])
	}
}

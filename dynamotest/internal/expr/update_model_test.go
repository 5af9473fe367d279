package expr_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/dynamotest/internal/expr"
	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/item/itemtest"
)

// cell is a value that can be changed in place: the simple way to update. A removed element stays
// in its list until the end, and an element set beyond the end waits in late, so that all indexes
// stay valid.
type cell struct {
	v    item.Value
	m    map[string]*cell
	l    []*cell
	late map[int]*cell
	gone bool
}

func open(v item.Value) *cell {
	c := &cell{v: v}
	switch v.Kind() {
	case item.M:
		c.m = map[string]*cell{}
		for name, e := range v.Item().All() {
			c.m[name] = open(e)
		}
	case item.L:
		c.l, c.late = []*cell{}, map[int]*cell{}
		for e := range v.Elements() {
			c.l = append(c.l, open(e))
		}
	default: // scalars and sets
	}
	return c
}

func (c *cell) close() item.Value {
	switch {
	case c.m != nil:
		var attrs []item.Attr
		for name, e := range c.m {
			attrs = append(attrs, item.Attr{Name: name, Value: e.close()})
		}
		return item.Map(item.Of(attrs...))
	case c.l != nil:
		var list []item.Value
		for _, e := range c.l {
			if !e.gone {
				list = append(list, e.close())
			}
		}
		for _, i := range slices.Sorted(maps.Keys(c.late)) {
			list = append(list, c.late[i].close())
		}
		return item.List(list...)
	default:
		return c.v
	}
}

// modelPath is a path of names and indexes.
type modelPath []any

func (p modelPath) text(names expr.Names) string {
	var b strings.Builder
	for i, s := range p {
		if n, ok := s.(int); ok {
			fmt.Fprintf(&b, "[%d]", n)
			continue
		}
		ref := fmt.Sprintf("#p%d", len(names))
		names[ref] = s.(string)
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(ref)
	}
	return b.String()
}

// meets reports whether two paths overlap or conflict.
func (p modelPath) meets(q modelPath) bool {
	for i := range min(len(p), len(q)) {
		_, one := p[i].(int)
		if _, other := q[i].(int); one != other {
			return true
		}
		if p[i] != q[i] {
			return false
		}
	}
	return true
}

func (p modelPath) of(v item.Value) item.Value {
	for _, s := range p {
		if n, ok := s.(int); ok {
			v = v.Index(n)
		} else {
			v = v.Item().Get(s.(string))
		}
	}
	return v
}

// set sets the value at the path, or removes it if v is Missing. ok is false if the path does not
// exist.
func (c *cell) set(p modelPath, v item.Value) (ok bool) {
	for _, s := range p[:len(p)-1] {
		next, index := (*cell)(nil), false
		n := 0
		if n, index = s.(int); index && n < len(c.l) {
			next = c.l[n]
		} else if !index && c.m != nil {
			next = c.m[s.(string)]
		}
		if next == nil {
			return false
		}
		c = next
	}
	n, index := p[len(p)-1].(int)
	switch {
	case !index && c.m == nil || index && c.l == nil:
		return false
	case !index && v.Exists():
		c.m[p[len(p)-1].(string)] = open(v)
	case !index:
		delete(c.m, p[len(p)-1].(string))
	case n < len(c.l) && v.Exists():
		c.l[n] = open(v)
	case n < len(c.l):
		c.l[n].gone = true
	case v.Exists():
		c.late[n] = open(v)
	}
	return true
}

// drawPath draws a path. Most lead to a value of the item.
func drawPath(t *rapid.T, it item.Item) modelPath {
	v, p := item.Map(it), modelPath{}
	for {
		switch {
		case v.Kind() == item.M:
			name := itemtest.Name().Draw(t, "name")
			if v.Item().Len() > 0 && rapid.IntRange(0, 7).Draw(t, "there") > 0 {
				var names []string
				for n := range v.Item().All() {
					names = append(names, n)
				}
				name = rapid.SampledFrom(names).Draw(t, "name")
			}
			p, v = append(p, name), v.Item().Get(name)
		case v.Kind() == item.L:
			i := rapid.IntRange(0, v.Len()+2).Draw(t, "index")
			p, v = append(p, i), v.Index(i)
		case rapid.IntRange(0, 19).Draw(t, "further") == 0:
			return append(p, rapid.SampledFrom([]any{0, "a"}).Draw(t, "step"))
		default:
			return p
		}
		if rapid.IntRange(0, 2).Draw(t, "enough") == 0 {
			return p
		}
	}
}

// updateModel draws an update and applies it to cells at the same time.
type updateModel struct {
	*conditionModel
	it       item.Item
	whole    item.Value // the item as a map
	model    *cell
	failed   bool
	sections map[string][]string
	targets  []modelPath
}

// operand draws a placeholder, or a path that usually exists, and returns its value.
func (w *updateModel) operand() (string, item.Value) {
	if rapid.Bool().Draw(w.t, "path") {
		p := drawPath(w.t, w.it)
		if v := p.of(w.whole); v.Exists() || rapid.IntRange(0, 9).Draw(w.t, "missing") == 0 {
			return p.text(w.names), v
		}
	}
	return w.value(itemtest.Value(1).Draw(w.t, "operand"))
}

// do sets the value at the path, unless there is an error.
func (w *updateModel) do(p modelPath, v item.Value, err error) {
	w.failed = w.failed || err != nil || !w.model.set(p, v)
}

var errMissing = fmt.Errorf("no value to set")

// set draws the value of a SET action.
func (w *updateModel) set(p modelPath) string {
	x, a := w.operand()
	text := x
	switch f := rapid.SampledFrom([]string{"", "", "", "", "if_not_exists", "if_not_exists", "list_append", "+", "-"}).Draw(w.t, "function"); f {
	case "":
	case "if_not_exists":
		q := drawPath(w.t, w.it)
		text = f + "(" + q.text(w.names) + "," + x + ")"
		if q.of(w.whole).Exists() {
			a = q.of(w.whole)
		}
	case "list_append":
		y, b := w.operand()
		text = f + " ( " + x + ", " + y + " )"
		if a.Kind() == item.L && b.Kind() == item.L {
			a = item.List(slices.AppendSeq(slices.Collect(a.Elements()), b.Elements())...)
		} else {
			a = item.Value{}
		}
	default:
		y, b := w.operand()
		text = x + f + y
		sum := item.Value{}
		if a.Kind() == item.N && b.Kind() == item.N {
			if sum, _ = item.Add(a, b); f == "-" {
				sum, _ = item.Sub(a, b)
			}
		}
		a = sum
	}
	if a.Exists() {
		w.do(p, a, nil)
	} else {
		w.do(p, a, errMissing)
	}
	return " = " + text
}

// combine draws the operand of ADD or DELETE.
func (w *updateModel) combine(p modelPath, section string) string {
	now, g := p.of(w.whole), itemtest.Set()
	if section == "ADD" && rapid.Bool().Draw(w.t, "number") {
		g = itemtest.OfKind(item.N)
	}
	by := g.Draw(w.t, "by")
	if now.Kind() == item.SS && rapid.Bool().Draw(w.t, "all") {
		by = now
	}
	switch {
	case now.Exists() && now.Kind() != by.Kind():
		w.failed = true
	case section == "ADD" && !now.Exists():
		w.do(p, by, nil)
	case section == "ADD" && by.Kind() == item.N:
		sum, err := item.Add(now, by)
		w.do(p, sum, err)
	case section == "ADD":
		w.do(p, item.Union(now, by), nil)
	case now.Exists():
		w.do(p, item.Minus(now, by), nil)
	default:
		w.do(p, item.Value{}, nil)
	}
	y, _ := w.value(by)
	return " " + y
}

// action draws an action and applies it. Few actions overlap with an earlier one.
func (w *updateModel) action() {
	p := drawPath(w.t, w.it)
	if slices.ContainsFunc(w.targets, p.meets) && rapid.IntRange(0, 19).Draw(w.t, "anyway") > 0 {
		return
	}
	w.targets = append(w.targets, p)
	section, rest := rapid.SampledFrom([]string{"SET", "SET", "SET", "REMOVE", "ADD", "DELETE"}).Draw(w.t, "section"), ""
	switch section {
	case "SET":
		rest = w.set(p)
	case "REMOVE":
		w.do(p, item.Value{}, nil)
	default:
		rest = w.combine(p, section)
	}
	w.sections[section] = append(w.sections[section], p.text(w.names)+rest)
}

// text returns the update expression.
func (w *updateModel) text() string {
	var parts []string
	for _, name := range rapid.Permutation(slices.Sorted(maps.Keys(w.sections))).Draw(w.t, "order") {
		parts = append(parts, name+" "+strings.Join(w.sections[name], ", "))
	}
	return strings.Join(parts, w.space())
}

// TestUpdateAgainstCells draws updates and compares their results with those of the model.
func TestUpdateAgainstCells(t *testing.T) {
	met := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		it := itemtest.Item(3).Draw(t, "item").With("pk", item.Str("k"))
		w := &updateModel{conditionModel: &conditionModel{t: t, names: expr.Names{}}, it: it, whole: item.Map(it), model: open(item.Map(it)), sections: map[string][]string{}}
		for range rapid.IntRange(1, 5).Draw(t, "actions") {
			w.action()
		}
		text, values := w.text(), item.Of(w.values...)
		u, err := update(text, w.names, values)
		if err != nil {
			for _, m := range []string{"document paths", "Incorrect operand type"} {
				if strings.Contains(err.Error(), m) {
					met[m]++
					return
				}
			}
			t.Fatalf("%s: %v", text, err)
		}
		got, err := u.Apply(it, it.Only("pk"))
		switch want := w.model.close().Item(); {
		case w.failed != (err != nil):
			t.Fatalf("%s\nof %s\nwith %s %v\nfailed: %v, %v", text, it, values, w.names, w.failed, err)
		case err == nil && got != want:
			t.Fatalf("%s\nof %s\nwith %s %v\ngot  %s\nwant %s", text, it, values, w.names, got, want)
		}
		met[fmt.Sprintf("failed: %v", w.failed)]++
	})
	for _, what := range []string{"failed: true", "failed: false"} {
		if met[what] == 0 {
			t.Errorf("no drawn update had the outcome %s: %v", what, met)
		}
	}
}

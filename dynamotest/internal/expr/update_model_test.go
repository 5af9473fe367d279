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

// cell is a value that can be changed in place: the dumb way to update. An element that is removed stays in its list
// until the end, one that is set beyond the end waits in late, so that every index is what it was.
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

// place is a path: names and indexes.
type place []any

func (p place) text(names expr.Names) string {
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

// meets tells whether two paths cannot both be changed.
func (p place) meets(q place) bool {
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

func (p place) of(v item.Value) item.Value {
	for _, s := range p {
		if n, ok := s.(int); ok {
			v = v.Index(n)
		} else {
			v = v.Item().Get(s.(string))
		}
	}
	return v
}

// set puts v in its place, or nothing if it is Missing. ok is false if there is no such place.
func (c *cell) set(p place, v item.Value) (ok bool) {
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

// somewhere draws a path, mostly one that leads to something in the item.
func somewhere(t *rapid.T, it item.Item) place {
	v, p := item.Map(it), place{}
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

// TestUpdateAgainstCells draws updates and does them the dumb way too.
func TestUpdateAgainstCells(t *testing.T) {
	met := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		it := itemtest.Item(3).Draw(t, "item").With("pk", item.Str("k"))
		d := &drawn{t: t, names: expr.Names{}}
		whole, model, failed := item.Map(it), open(item.Map(it)), false
		sections, targets := map[string][]string{}, []place(nil)
		operand := func() (string, item.Value) {
			if rapid.Bool().Draw(t, "value") {
				return d.value(itemtest.Value(1).Draw(t, "operand"))
			}
			p := somewhere(t, it)
			if v := p.of(whole); v.Exists() || rapid.IntRange(0, 9).Draw(t, "missing") == 0 {
				return p.text(d.names), v
			}
			return d.value(itemtest.Value(1).Draw(t, "operand"))
		}
		do := func(p place, v item.Value, err error) {
			failed = failed || err != nil || !model.set(p, v)
		}
		var errMissing = fmt.Errorf("missing")
		for range rapid.IntRange(1, 5).Draw(t, "actions") {
			p := somewhere(t, it)
			if slices.ContainsFunc(targets, p.meets) && rapid.IntRange(0, 19).Draw(t, "anyway") > 0 {
				continue
			}
			targets = append(targets, p)
			now, target := p.of(whole), p.text(d.names)
			section := rapid.SampledFrom([]string{"SET", "SET", "SET", "REMOVE", "ADD", "DELETE"}).Draw(t, "section")
			action := target
			switch section {
			case "SET":
				x, a := operand()
				switch f := rapid.SampledFrom([]string{"", "", "", "", "if_not_exists", "if_not_exists", "list_append", "+", "-"}).Draw(t, "function"); f {
				case "":
					action = target + " = " + x
				case "if_not_exists":
					q := somewhere(t, it)
					if action = target + "=if_not_exists(" + q.text(d.names) + "," + x + ")"; q.of(whole).Exists() {
						a = q.of(whole)
					}
				case "list_append":
					y, b := operand()
					action = target + " = list_append(" + x + ", " + y + ")"
					if a.Kind() == item.L && b.Kind() == item.L {
						a = item.List(slices.AppendSeq(slices.Collect(a.Elements()), b.Elements())...)
					} else {
						a = item.Value{}
					}
				default:
					y, b := operand()
					action = target + " = " + x + " " + f + " " + y
					sum := item.Value{}
					if a.Kind() == item.N && b.Kind() == item.N {
						if sum, _ = item.Add(a, b); f == "-" {
							sum, _ = item.Sub(a, b)
						}
					}
					a = sum
				}
				if a.Exists() {
					do(p, a, nil)
				} else {
					do(p, a, errMissing)
				}
			case "REMOVE":
				do(p, item.Value{}, nil)
			default:
				g := itemtest.Set()
				if section == "ADD" && rapid.Bool().Draw(t, "number") {
					g = itemtest.OfKind(item.N)
				}
				by := g.Draw(t, "by")
				if now.Kind() == item.SS && rapid.Bool().Draw(t, "all") {
					by = now
				}
				y, _ := d.value(by)
				action = target + " " + y
				switch {
				case now.Exists() && now.Kind() != by.Kind():
					failed = true
				case section == "ADD" && !now.Exists():
					do(p, by, nil)
				case section == "ADD" && by.Kind() == item.N:
					sum, err := item.Add(now, by)
					do(p, sum, err)
				case section == "ADD":
					do(p, item.Union(now, by), nil)
				case now.Exists():
					do(p, item.Minus(now, by), nil)
				default:
					do(p, item.Value{}, nil)
				}
			}
			sections[section] = append(sections[section], action)
		}
		var parts []string
		for _, name := range rapid.Permutation(slices.Sorted(maps.Keys(sections))).Draw(t, "order") {
			parts = append(parts, name+" "+strings.Join(sections[name], ", "))
		}
		if parts == nil {
			t.Skip("no action")
		}
		text, values := strings.Join(parts, d.space()), item.Of(d.values...)
		u, err := update(text, d.names, values)
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
		switch want := model.close().Item(); {
		case failed != (err != nil):
			t.Fatalf("%s\nof %s\nwith %s %v\nfailed: %v, %v", text, it, values, d.names, failed, err)
		case err == nil && got != want:
			t.Fatalf("%s\nof %s\nwith %s %v\ngot  %s\nwant %s", text, it, values, d.names, got, want)
		}
		met[fmt.Sprintf("failed: %v", failed)]++
	})
	for _, what := range []string{"failed: true", "failed: false", "document paths"} {
		if met[what] == 0 {
			t.Errorf("%s never happened: %v", what, met)
		}
	}
	t.Log(met)
}

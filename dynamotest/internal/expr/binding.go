package expr

import "github.com/weirhq/weir/dynamotest/internal/item"

// binding holds the names and values of an expression's placeholders, by slot.
type binding struct {
	names  []string     // "" for a placeholder that is not defined
	values []item.Value // Missing for a placeholder that is not defined
}

// bind returns the binding. complete is false if a placeholder is not defined.
func (r Refs) bind(names Names, values item.Item) (b binding, complete bool) {
	complete = true
	if len(r.Names) > 0 {
		b.names = make([]string, len(r.Names))
		for i, ref := range r.Names {
			b.names[i] = names[ref]
			complete = complete && b.names[i] != ""
		}
	}
	if len(r.Values) > 0 {
		b.values = make([]item.Value, len(r.Values))
		for i, ref := range r.Values {
			b.values[i] = values.Get(ref)
			complete = complete && b.values[i].Exists()
		}
	}
	return b, complete
}

// undefined returns the message for a placeholder that is not defined, "" if it is defined.
func (b *binding) undefined(refs Refs, r ref) string {
	switch {
	case r.value && !b.values[r.slot].Exists():
		return "An expression attribute value used in expression is not defined; attribute value: " + refs.Values[r.slot]
	case !r.value && b.names[r.slot] == "":
		return "An expression attribute name used in the document path is not defined; attribute name: " + refs.Names[r.slot]
	default:
		return ""
	}
}

// name returns the attribute name of a step that is not an index.
func (b *binding) name(s *step) string {
	if s.ref >= 0 {
		return b.names[s.ref]
	}
	return s.name
}

// get returns the value at the path, or Missing.
func (b *binding) get(it item.Item, p path) item.Value {
	v := it.Get(b.name(&p[0]))
	for i := 1; i < len(p) && v.Exists(); i++ {
		if s := &p[i]; s.index >= 0 {
			v = v.Index(s.index)
		} else {
			v = v.Item().Get(b.name(s))
		}
	}
	return v
}

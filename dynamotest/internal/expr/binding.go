package expr

import "github.com/weirhq/weir/dynamotest/internal/item"

// binding has what the placeholders of an expression stand for, by slot.
type binding struct {
	names  []string     // "" where it is not defined
	values []item.Value // Missing where it is not defined
}

// bind returns the binding, and whether all is defined.
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

// undefined returns the message for a placeholder that is not defined, "" if it is.
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

// name returns the attribute's name of a step that has one.
func (b *binding) name(s *step) string {
	if s.ref >= 0 {
		return b.names[s.ref]
	}
	return s.name
}

// get returns the value that the path leads to, Missing if there is none.
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

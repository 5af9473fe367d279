package expr

import (
	"bytes"

	"github.com/weirhq/weir/dynamotest/internal/item"
)

// KeyAttr is an attribute of a key and its kind: S, N or B.
type KeyAttr struct {
	Name string
	Kind item.Kind
}

// Range is the keys that a query asks for.
type Range struct {
	Hash   item.Value // the partition key
	Lo, Hi []byte     // sort keys, as item.AppendKey encodes them: Lo is included, Hi is not; nil means no bound
}

// Contains reports whether a sort key, as item.AppendKey encodes it, is in the range.
func (r Range) Contains(key []byte) bool {
	return bytes.Compare(r.Lo, key) <= 0 && (r.Hi == nil || bytes.Compare(key, r.Hi) < 0)
}

// Range returns the keys of a table or an index that the condition selects. The name of sort is ""
// if there is no sort key.
func (k Keys) Range(hash, sort KeyAttr) (Range, error) {
	tests, err := k.tests()
	if err != nil {
		return Range{}, err
	}
	if sort.Name == "" && len(tests) > 1 {
		return Range{}, item.Invalid("Query key condition not supported")
	}
	t, err := find(tests, hash, true)
	if err != nil {
		return Range{}, err
	}
	if t.op != opEqual {
		return Range{}, item.Invalid("Query key condition not supported")
	}
	r := Range{Hash: t.args[0]}
	if sort.Name == "" {
		return r, nil
	}
	t, err = find(tests, sort, len(tests) > 1)
	if err != nil || t.name == "" {
		return r, err
	}
	r.Lo, r.Hi = t.bounds()
	return r, nil
}

// find returns the condition on the attribute. If there is none, it returns the zero keyTest, or an
// error if needed is true.
func find(tests []keyTest, attr KeyAttr, needed bool) (keyTest, error) {
	for _, t := range tests {
		if t.name != attr.Name {
			continue
		}
		for _, v := range t.args {
			if v.Kind() != attr.Kind {
				return keyTest{}, item.Invalid(
					"One or more parameter values were invalid: Condition parameter type does not match schema type")
			}
		}
		return t, nil
	}
	if needed {
		return keyTest{}, item.Invalid("Query condition missed key schema element: " + attr.Name)
	}
	return keyTest{}, nil
}

// bounds returns the bounds of the keys that fulfil the condition: lo is included, hi is not.
func (t *keyTest) bounds() (lo, hi []byte) {
	first := item.AppendKey(nil, t.args[0])
	switch t.op {
	case opLess:
		return nil, first
	case opLessEqual:
		return nil, after(first)
	case opGreater:
		return after(first), nil
	case opGreaterEqual:
		return first, nil
	case opBetween:
		return first, after(item.AppendKey(nil, t.args[1]))
	case opBeginsWith:
		first = item.AppendKeyPrefix(nil, t.args[0])
		return first, after(first)
	default:
		return first, after(first)
	}
}

// after returns the first byte string after all strings with the prefix key, or nil if there is
// none.
func after(key []byte) []byte {
	for n := len(key); n > 0; n-- {
		if key[n-1] < 0xff {
			next := append([]byte(nil), key[:n]...)
			next[n-1]++
			return next
		}
	}
	return nil
}

package item

// DynamoDB's limits, in bytes except MaxDepth.
const (
	MaxSize     = 400 << 10 // of an item: names and values
	MaxHashKey  = 2048      // of a partition key
	MaxRangeKey = 1024      // of a sort key
	MaxDepth    = 32        // nested levels of lists and maps
)

// Size returns the item's size in bytes, as DynamoDB counts it for the limit and for capacity:
// names and values.
func (it Item) Size() int {
	n := 0
	for rest := it.enc; rest != ""; {
		var a Attr
		a, rest = next(rest)
		n += len(a.Name) + a.Value.Size()
	}
	return n
}

// Size returns the value's size in bytes, as DynamoDB counts it. A number has a byte for each two
// digits, aligned at the point, and one more, or two if it is negative. A list or map has 3 bytes
// and one for each element.
func (v Value) Size() int {
	switch v.Kind() {
	case S, B:
		return len(v.payload())
	case N:
		return numberSize(v.payload())
	case BOOL, NULL:
		return 1
	case M:
		it := v.Item()
		return 3 + it.Len() + it.Size()
	case Missing:
		return 0
	case L:
		return 3 + v.Len() + v.elementsSize()
	default:
		return v.elementsSize()
	}
}

func (v Value) elementsSize() int {
	n := 0
	for e := range v.Elements() {
		n += e.Size()
	}
	return n
}

func numberSize(payload string) int {
	d := decode(payload)
	if d.n == 0 {
		return 1
	}
	// DynamoDB stores digits in pairs that begin at even exponents.
	first, last := d.exp>>1, (d.exp-d.n+1)>>1
	size := first - last + 2
	if d.neg {
		size++
	}
	return size
}

// Depth returns the number of lists and maps of v around its deepest value: 0 for a string and for
// an empty list, 1 for a list of strings.
func (v Value) Depth() int {
	deepest := 0
	switch v.Kind() {
	case M:
		for _, e := range v.Item().All() {
			deepest = max(deepest, 1+e.Depth())
		}
	case L:
		for e := range v.Elements() {
			deepest = max(deepest, 1+e.Depth())
		}
	default: // scalars and sets
	}
	return deepest
}

// TooDeep returns the error about a value inside MaxDepth lists and maps.
func TooDeep() *Error { return Invalid(tooDeep) }

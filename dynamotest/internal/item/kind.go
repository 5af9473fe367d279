package item

// Kind is one of the ten types of an attribute value, or Missing.
type Kind uint8

// The kinds, with their names in DynamoDB's JSON.
const (
	Missing Kind = iota // no value, as Get returns it for an attribute that does not exist
	S                   // string, UTF-8
	N                   // number, 38 digits
	B                   // binary
	BOOL                // boolean
	NULL                // null
	M                   // map
	L                   // list
	SS                  // set of strings
	NS                  // set of numbers
	BS                  // set of binaries
)

// String returns the kind's name in JSON, or "" for Missing.
func (k Kind) String() string {
	const names = "S N B BOOLNULLM L SSNSBS"
	switch k {
	case S, N, B:
		return names[2*k-2 : 2*k-1]
	case BOOL, NULL:
		return names[6+4*(k-BOOL) : 10+4*(k-BOOL)]
	case M, L:
		return names[14+2*(k-M) : 15+2*(k-M)]
	case SS, NS, BS:
		return names[18+2*(k-SS) : 20+2*(k-SS)]
	default:
		return ""
	}
}

// Element returns the kind of a set's elements, or Missing if k is not a kind of set.
func (k Kind) Element() Kind {
	if k < SS || k > BS {
		return Missing
	}
	return k - SS + S
}

// ParseKind returns the kind with that name in JSON, or Missing.
func ParseKind(name string) Kind {
	switch name {
	case "S":
		return S
	case "N":
		return N
	case "B":
		return B
	case "BOOL":
		return BOOL
	case "NULL":
		return NULL
	case "M":
		return M
	case "L":
		return L
	case "SS":
		return SS
	case "NS":
		return NS
	case "BS":
		return BS
	default:
		return Missing
	}
}

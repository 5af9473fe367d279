package lease

// Attr is an attribute of a row that rules test and set.
type Attr uint8

// The attributes.
const (
	AttrVersion Attr = iota
	AttrExpires
	AttrOwner
	AttrHolder
	AttrAvailable
	AttrState
	AttrResource
	AttrResourceVersion
	AttrWinner
)

// Test is a test of an attribute in a condition.
type Test uint8

// The tests.
const (
	Absent    Test = iota // the row has no such attribute
	Equal                 // equal to the argument of the same name
	Past                  // a time that is not after now
	Ended                 // a time that is before now by more than the skew
	OwnRegion             // equal to the region of the write
)

// Condition is one test of one attribute.
type Condition struct {
	Attr Attr
	Test Test
}

// String returns the condition as text, such as "version equal".
func (c Condition) String() string {
	attr := [...]string{"version", "expires", "owner", "holder", "available", "state", "resource", "resource version", "winner"}[c.Attr]
	return attr + " " + [...]string{"absent", "equal", "past", "ended", "own region"}[c.Test]
}

// Rule is one conditional write of the protocol. It is made if all conditions hold for the row at
// that moment, and adds one to the version.
type Rule struct {
	Name        string
	When        []Condition
	Set         []Attr // set to the arguments of the same names
	Remove      []Attr
	VersionJump int64 // added to the version beside the one
}

// Write is a rule with its arguments, for one row.
type Write struct {
	Rule      *Rule
	Args      Row // values to compare with and to set; Args.Version is the expected version
	Now, Skew int64
	Region    string // region whose endpoint makes the write; OwnRegion compares with it
}

// Holds reports whether all conditions of w hold for row.
func (w *Write) Holds(row *Row) bool {
	for _, c := range w.Rule.When {
		if !w.holds(c, row) {
			return false
		}
	}
	return true
}

func (w *Write) holds(c Condition, row *Row) bool {
	switch c.Test {
	case Absent:
		return !row.has(c.Attr)
	case Equal:
		return row.has(c.Attr) && row.same(&w.Args, c.Attr)
	case Past:
		return row.has(c.Attr) && row.time(c.Attr) <= w.Now
	case Ended:
		return row.has(c.Attr) && row.time(c.Attr) < w.Now-w.Skew
	case OwnRegion:
		return row.has(c.Attr) && row.Owner == w.Region
	default:
		return false
	}
}

// Apply returns row as it is after w.
func (w *Write) Apply(row Row) Row {
	for _, a := range w.Rule.Set {
		row.set(a, &w.Args)
	}
	for _, a := range w.Rule.Remove {
		row.set(a, &Row{})
	}
	row.Version += 1 + w.Rule.VersionJump
	return row
}

func (r *Row) has(a Attr) bool { return !r.same(&Row{}, a) }

func (r *Row) same(o *Row, a Attr) bool {
	x := *r
	x.set(a, o)
	return x == *r
}

func (r *Row) time(a Attr) int64 {
	if a == AttrAvailable {
		return r.Available
	}
	return r.Expires
}

func (r *Row) set(a Attr, from *Row) {
	switch a {
	case AttrVersion:
		r.Version = from.Version
	case AttrExpires:
		r.Expires = from.Expires
	case AttrOwner:
		r.Owner = from.Owner
	case AttrHolder:
		r.Holder = from.Holder
	case AttrAvailable:
		r.Available = from.Available
	case AttrState:
		r.State = from.State
	case AttrResource:
		r.Resource = from.Resource
	case AttrResourceVersion:
		r.ResourceVersion = from.ResourceVersion
	case AttrWinner:
		r.Winner = from.Winner
	}
}

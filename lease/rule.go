package lease

// Attr is an attribute of a row that conditions and changes name.
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

// Test is what a condition asks of an attribute.
type Test uint8

// The tests.
const (
	Absent    Test = iota // the row has none
	Equal                 // to the argument of the same name
	Past                  // at or before now
	Ended                 // before now by more than the skew
	OwnRegion             // to the region of the write
)

// Condition is one test of one attribute.
type Condition struct {
	Attr Attr
	Test Test
}

// String is the condition for people.
func (c Condition) String() string {
	attr := [...]string{"version", "expires", "owner", "key", "available", "state", "resource", "at", "winner"}[c.Attr]
	return attr + " " + [...]string{"absent", "equal", "past", "ended", "mine"}[c.Test]
}

// Rule is one of the protocol's writes. It is made if all conditions hold on the row as it is at that moment; then the
// version goes up.
type Rule struct {
	Name        string
	When        []Condition
	Set         []Attr // to the arguments of the same names
	Remove      []Attr
	VersionJump int64 // what the version goes up by beside that one
}

// Write is a rule with its arguments, for one row.
type Write struct {
	Rule      *Rule
	Args      Row // what conditions compare with and what is set; its version is the expected one
	Now, Skew int64
	Region    string // whose endpoint it is made at, for those who ask for Mine
}

// Holds says whether w may be made on row.
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

// Apply is row after w.
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

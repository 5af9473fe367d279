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

// Rules are all writes of the protocol. Register to Revive change resource rows, the others key
// rows.
type Rules struct {
	// Offered is not a write: its conditions select candidates among the entries of the index.
	Offered Rule

	Register Rule // adds a resource
	Take     Rule // leases the candidate to the key
	Renew    Rule // moves the end of a lease
	Release  Rule // ends a lease early, by its holder
	Liberate Rule // frees the resource of an ended lease
	Transfer Rule // moves an available resource to another region, or to another pool
	Adopt    Rule // moves a resource of a lost region, whose write lease has ended, to another region
	Retire   Rule // takes an available resource out of use; the row stays, so that no token repeats
	Revive   Rule // puts a retired resource into use again

	Claim     Rule // the key's first lease in the region: pending
	Reclaim   Rule // a lease after an ended one: pending
	Repoint   Rule // pending with another candidate
	Settle    Rule // pending to leased: the candidate was taken
	Extend    Rule // leased, with the new end: the resource was renewed
	Drop      Rule // released: the resource was released
	Supersede Rule // superseded: the lease of another region is valid
	Reinstate Rule // superseded to leased: the winning lease has ended
}

// Protocol returns the rules. Package model verifies that they keep the invariants, and that
// each condition is needed: without it an invariant does not hold.
func Protocol() *Rules {
	version := Condition{AttrVersion, Equal}
	state := []Attr{AttrState, AttrResource, AttrResourceVersion, AttrExpires}
	return &Rules{
		Offered: Rule{Name: "offered", When: []Condition{{AttrAvailable, Past}, {AttrOwner, Equal}}},

		Register: Rule{Name: "register", When: []Condition{{AttrVersion, Absent}}, Set: []Attr{AttrOwner, AttrAvailable}},
		Take:     Rule{Name: "take", When: []Condition{version}, Set: []Attr{AttrHolder, AttrExpires}, Remove: []Attr{AttrAvailable}},
		Renew:    Rule{Name: "renew", When: []Condition{version}, Set: []Attr{AttrExpires}},
		Release:  Rule{Name: "release", When: []Condition{version}, Set: []Attr{AttrAvailable}, Remove: []Attr{AttrHolder, AttrExpires}},
		Liberate: Rule{
			Name: "liberate", When: []Condition{version, {AttrExpires, Ended}}, Set: []Attr{AttrAvailable},
			Remove: []Attr{AttrHolder, AttrExpires},
		},
		Transfer: Rule{Name: "transfer", When: []Condition{version, {AttrAvailable, Past}}, Set: []Attr{AttrOwner, AttrAvailable}},
		Adopt: Rule{
			Name: "adopt", When: []Condition{version}, Set: []Attr{AttrOwner, AttrAvailable}, Remove: []Attr{AttrHolder, AttrExpires},
			VersionJump: AdoptedVersionJump,
		},
		Retire: Rule{Name: "retire", When: []Condition{version, {AttrAvailable, Past}}, Remove: []Attr{AttrAvailable}},
		Revive: Rule{Name: "revive", When: []Condition{version}, Set: []Attr{AttrAvailable}},

		Claim:     Rule{Name: "claim", When: []Condition{{AttrVersion, Absent}}, Set: state},
		Reclaim:   Rule{Name: "reclaim", When: []Condition{version}, Set: state, Remove: []Attr{AttrWinner}},
		Repoint:   Rule{Name: "repoint", When: []Condition{version}, Set: state},
		Settle:    Rule{Name: "settle", When: []Condition{version}, Set: state},
		Extend:    Rule{Name: "extend", When: []Condition{version}, Set: state},
		Drop:      Rule{Name: "drop", When: []Condition{version}, Set: []Attr{AttrState, AttrResourceVersion}},
		Supersede: Rule{Name: "supersede", When: []Condition{version}, Set: []Attr{AttrState, AttrWinner}},
		Reinstate: Rule{Name: "reinstate", When: []Condition{version}, Set: []Attr{AttrState}, Remove: []Attr{AttrWinner}},
	}
}

// AdoptedVersionJump is added to the version of an adopted row. It passes all writes of the former
// owner that were never replicated, so their tokens are smaller and none of them fits the row.
const AdoptedVersionJump = 1 << 20

// All returns all rules.
func (r *Rules) All() []*Rule {
	return []*Rule{
		&r.Offered, &r.Register, &r.Take, &r.Renew, &r.Release, &r.Liberate, &r.Transfer, &r.Adopt, &r.Retire, &r.Revive,
		&r.Claim, &r.Reclaim, &r.Repoint, &r.Settle, &r.Extend, &r.Drop, &r.Supersede, &r.Reinstate,
	}
}

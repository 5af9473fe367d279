package lease

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

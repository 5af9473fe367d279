package lease

// Rules are all writes of the protocol. Register to Revive are of resource rows, the others of key rows.
type Rules struct {
	// Offered is no write: it says which row of the index is a candidate.
	Offered Rule

	Register Rule // a new resource
	Take     Rule // the candidate becomes the key's
	Renew    Rule // a later end
	Release  Rule // given back by the holder
	Liberate Rule // given back by nobody: it ended
	Transfer Rule // to another region
	Adopt    Rule // by another region, when the owner is cut off and its region lease is over
	Retire   Rule // an available one is taken out of use; its row and version stay, so that no token is ever given twice
	Revive   Rule // and put into use again

	Claim     Rule // the first lease of a key here
	Reclaim   Rule // after one that is over
	Repoint   Rule // another candidate
	Settle    Rule // the candidate was taken
	Extend    Rule // the resource was renewed
	Drop      Rule // the resource was given back
	Supersede Rule // the lease of another region won
	Reinstate Rule // that one is over, ours goes on
}

// Protocol returns the rules. Package model checks that they do what package lease promises, and do not if any one of the
// conditions is left out.
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
			Name: "liberate", When: []Condition{version, {AttrExpires, Ended}}, Set: []Attr{AttrAvailable}, Remove: []Attr{AttrHolder, AttrExpires},
		},
		Transfer: Rule{Name: "transfer", When: []Condition{version, {AttrAvailable, Past}}, Set: []Attr{AttrOwner, AttrAvailable}},
		Adopt: Rule{
			Name: "adopt", When: []Condition{version}, Set: []Attr{AttrOwner, AttrAvailable}, Remove: []Attr{AttrHolder, AttrExpires}, VersionJump: AdoptedVersionJump,
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

// AdoptedVersionJump takes an adopted row's version past all that its last owner may have written and nobody saw: a token of those is
// smaller, and none of their writes is made on the adopted row.
const AdoptedVersionJump = 1 << 20

// All lists the rules, for those who look at each.
func (r *Rules) All() []*Rule {
	return []*Rule{
		&r.Offered, &r.Register, &r.Take, &r.Renew, &r.Release, &r.Liberate, &r.Transfer, &r.Adopt, &r.Retire, &r.Revive,
		&r.Claim, &r.Reclaim, &r.Repoint, &r.Settle, &r.Extend, &r.Drop, &r.Supersede, &r.Reinstate,
	}
}

package spendsim

// Mutation is an injected bug. The checkers must find each one, which proves that they work. The
// empty mutation injects nothing.
type Mutation string

// MutationCase is a mutation, the number of seeds within which it must be found, and the checkers
// that find it.
type MutationCase struct {
	Mutation Mutation
	Seeds    int
	By       string
	With     func(*Scenario) // changes each scenario; nil: nothing
}

// Mutations returns all mutations.
func Mutations() []MutationCase {
	return []MutationCase{
		{Mutation: "mirror resumes one early", Seeds: 50, By: "COPIED"},
		{Mutation: "mirror hides lost records", Seeds: 50, By: "LOST RETURNED"},
		{Mutation: "mirror hides lost refunds", Seeds: 50, By: "LOST"},
		{Mutation: "mirror forgets origins", Seeds: 50, By: "ERROR"},
		{Mutation: "mirror copies aborted records", Seeds: 50, By: "COPIED"},
		{Mutation: "mirror commits positions of aborted copies", Seeds: 50, By: "COPIED CONVERGED LOST"},
		{Mutation: "counter does not rebuild", Seeds: 50, By: "CHARGED CONVERGED HEALTH"},
		{Mutation: "counter confuses types", Seeds: 50, By: "CONVERGED"},
		{Mutation: "counter has another rule for late events", Seeds: 50, By: "CONVERGED", With: stopKafka},
		{Mutation: "counter audits charged events alone", Seeds: 50, By: "AUDIT"},
		{Mutation: "counter audits nothing after a restart", Seeds: 50, By: "AUDIT"},
		{Mutation: "counter audits lost events", Seeds: 50, By: "AUDIT"},
		{Mutation: "push writes health first", Seeds: 50, By: "HEALTH"},
		{Mutation: "push does not compare", Seeds: 50, By: "HEALTH CONVERGED"},
		{Mutation: "push is not fenced", Seeds: 50, By: "HEALTH CONVERGED"},
		{Mutation: "push loses the rows of a restart", Seeds: 50, By: "HEALTH CONVERGED"},
		{Mutation: "reader ignores ages", Seeds: 50, By: "STOPPED", With: stopAll},
		{Mutation: "reader ignores lost records", Seeds: 50, By: "RETURNED"},
		{Mutation: "reader never returns", Seeds: 50, By: "RETURNED"},
		{Mutation: "selector ignores lags", Seeds: 50, By: "OVERSPENT", With: stopMirror},
		{Mutation: "merge adds", Seeds: 50, By: "CHARGED"},
	}
}

// stopAll stops the counters of all datacentres at about the same time.
func stopAll(s *Scenario) {
	s.Faults = nil
	for dc := range s.DCs {
		s.Faults = append(s.Faults, Fault{Kind: StopCounter, DC: dc, From: warmMs + int64(dc)*1000, To: warmMs + 80_000})
	}
}

// stopMirror stops the mirror of one of two datacentres. The budget ends long after.
func stopMirror(s *Scenario) {
	s.DCs, s.JoinAt = 2, 0
	s.Faults = []Fault{{Kind: StopMirror, From: warmMs, To: warmMs + 95_000}}
	s.endBudget(warmMs + 45_000)
}

// stopKafka stops the brokers of a datacentre until its oldest events are late.
func stopKafka(s *Scenario) {
	s.Faults = []Fault{{Kind: StopKafka, From: warmMs, To: healMs}}
}

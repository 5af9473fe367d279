package agent

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// linearCall is one call of an agent with its result. Times are Unix milliseconds of one clock.
type linearCall struct {
	agent int
	op    string // get, renew, release, or as operations splits them: begin renew, begin release
	key   string
	until int64 // requested end
	had   Lease // the lease to renew or release
	got   Lease
	err   error

	shadowed   bool  // another get of the key, concurrent, failed or unknown, may have begun a lease
	call, done int64 // positions in the order of all calls and returns
	at, back   int64 // times of call and return
}

// forever is the return time of a call with an unknown outcome.
const forever = math.MaxInt64

// unknown reports whether the call may have taken effect, in part or completely, now or later.
func (c *linearCall) unknown() bool {
	return errors.Is(c.err, ErrUnavailable) || errors.Is(c.err, ErrThrottled)
}

func (c *linearCall) String() string {
	s := fmt.Sprintf("%d..%d agent %d: %s %s", c.at, c.back, c.agent, c.op, c.key)
	if !strings.HasSuffix(c.op, "get") {
		s += fmt.Sprintf(" %s/%d", c.had.Resource, c.had.Token)
	}
	if !strings.HasSuffix(c.op, "release") {
		s += fmt.Sprintf(" until %d", c.until)
	}
	if c.err != nil {
		return s + ": " + c.err.Error()
	}
	return s + fmt.Sprintf(": %s/%d until %d, new %v", c.got.Resource, c.got.Token, c.got.Expires.UnixMilli(), c.got.New)
}

// linearTerms are the parameters of the pool and its users.
type linearTerms struct{ skew, quarantine int64 }

// linearState is the specification: the state of one key, without rows, pending leases or helping.
//
// Two details of the protocol are visible in it. A get that fails, or has not returned, may have
// begun a lease that no caller knows (unseen). Renewals and releases are two writes, of the
// resource row and of the key row: between them other callers get the old lease (half, given), and
// complete the first write when they renew or release it.
type linearState struct {
	resource   string // "" before the first lease
	token, end int64
	released   bool  // until its end the key can get the same resource, and no other
	unseen     bool  // another lease has begun after it
	prior      int64 // token of the lease of the same resource that was released before this one
	half       int64 // end that a renewal has written to the resource row only
	renewer    int64 // call that has written half
	given      bool  // a release is written to the resource row only
	freed      int64 // return time of the release
	healer     int64 // call that has completed another call's renewal, and continues
	now        int64 // latest time after which a call took effect
}

// step returns the states that are possible after a call; none, if the call's result is impossible.
func (s linearState) step(c *linearCall, t linearTerms) []linearState {
	next := s.after(c, t)
	for i := range next {
		if n := &next[i]; (n.released || n.given) && !s.released && !s.given {
			n.freed = c.done
		}
	}
	return next
}

func (s linearState) after(c *linearCall, t linearTerms) []linearState {
	s.now = max(s.now, c.at)
	switch c.op {
	case "get":
		return s.get(c, t)
	case "renew":
		return s.renew(c, t)
	case "release":
		return s.release(c, t)
	}
	next := []linearState{s}
	if !s.current(c) || s.released {
		return next
	}
	begun := s
	if s.half > 0 && s.renewer != c.call+1 { // the call continues with what another call began
		begun = s.whole()
		begun.healer = c.call + 1
		next = append(next, begun)
	}
	switch {
	case c.op == "begin renew" && !s.given:
		begun.half, begun.renewer = max(c.until, begun.end), c.call+1
		next = append(next, begun)
	case c.op == "begin release":
		begun.given = true
		next = append(next, begun, begun.over())
	}
	return next
}

// current reports whether the lease that a call renews or releases is the key's present one.
func (s linearState) current(c *linearCall) bool {
	return !s.unseen && s.resource == c.had.Resource && (s.token == c.had.Token || s.healer == c.call+1)
}

// begins returns the first time at which another lease may begin, with the same resource or not.
func (s linearState) begins(same bool, t linearTerms) int64 {
	switch {
	case s.resource == "" || same && s.released:
		return s.now
	case same:
		return max(s.now, s.end-t.skew) // its holders have stopped; the key may continue with the resource
	default:
		return max(s.now, s.end+t.skew+1)
	}
}

// whole returns the state after the second write of a renewal.
func (s linearState) whole() linearState {
	return linearState{resource: s.resource, token: s.token + 1, end: s.half, now: s.now}
}

// wholes returns the states after the second write of a renewal. A call that completed an earlier
// renewal, and continues, may have made that write too.
func (s linearState) wholes() []linearState {
	whole := s.whole()
	if s.healer == 0 {
		return []linearState{whole}
	}
	healed := whole
	healed.healer = s.healer
	return []linearState{whole, healed}
}

// over returns the state after a release.
func (s linearState) over() linearState {
	s.released, s.half, s.renewer, s.given = true, 0, 0, false
	return s
}

func (s linearState) get(c *linearCall, t linearTerms) (next []linearState) {
	switch {
	case errors.Is(c.err, ErrExhausted):
		if s.unseen || (s.released || s.given) && (c.shadowed || s.freed > c.call) { // it read before the release, and does not read again
			return []linearState{s}
		}
		if s.now = s.begins(false, t); s.now <= c.back {
			return []linearState{s}
		}
		return nil
	case errors.Is(c.err, ErrEnded): // the requested end passed during the call
		if c.until <= c.back+t.skew {
			return []linearState{s}
		}
		return nil
	case c.err != nil:
		return nil
	}
	g := linearState{resource: c.got.Resource, token: c.got.Token, end: c.got.Expires.UnixMilli(), now: s.now}
	if g.end <= s.now+t.skew {
		return nil
	}
	same := g.resource == s.resource
	if same && !s.released && !s.unseen {
		if g.token == s.token && g.end == s.end {
			next = append(next, s)
		}
		if s.half > 0 && g == s.whole() {
			next = append(next, s.wholes()...)
		}
	}
	if same && g.token <= s.token {
		return next
	}
	if same && s.released {
		g.prior = s.token
	}
	if g.now = s.begins(same, t); g.now <= c.back && g.end > g.now+t.skew {
		next = append(next, g)
	}
	return next
}

func (s linearState) renew(c *linearCall, t linearTerms) (next []linearState) {
	current, ended := s.current(c), c.had.Expires.UnixMilli()
	switch {
	case c.err == nil:
		g := linearState{resource: c.got.Resource, token: c.got.Token, end: c.got.Expires.UnixMilli(), now: s.now}
		if g.resource != c.had.Resource || g.token <= c.had.Token || g.end < max(c.until, ended) || s.released || s.unseen {
			return nil
		}
		if s.resource == g.resource && s.token == g.token && s.end == g.end { // another call renewed it to the same end, or completed this one
			return []linearState{s}
		}
		if s.half > 0 && g == s.whole() {
			return s.wholes()
		}
		if current {
			return []linearState{g}
		}
		return nil
	case s.lost(c):
		return []linearState{s}
	case errors.Is(c.err, ErrReleased):
		if s.released {
			return []linearState{s}
		}
		if s.given {
			return []linearState{s.over()}
		}
	case errors.Is(c.err, ErrEnded):
		if over := max(s.now, ended-t.skew); over <= c.back {
			s.now = over
			return []linearState{s}
		}
	}
	return s.another(c, t)
}

func (s linearState) release(c *linearCall, t linearTerms) []linearState {
	freed := s
	freed.now = max(s.now, c.had.Expires.UnixMilli()+t.skew+1)
	switch current := s.current(c); {
	case c.err == nil && current && s.half > 0: // after the renewal
		return []linearState{s.whole().over()}
	case c.err == nil && current:
		return []linearState{s.over()}
	case c.err == nil && s.again(c):
		return []linearState{s}
	case c.err != nil && s.lost(c):
		return []linearState{s}
	case (c.err == nil || errors.Is(c.err, ErrEnded)) && freed.now <= c.back: // it had ended, and was freed
		return []linearState{freed}
	case c.err != nil:
		return s.another(c, t)
	}
	return nil
}

// again reports whether a lease may be released that was released before. That changes nothing. It
// succeeds while the next lease is claimed in the key row and its resource is not taken yet.
func (s linearState) again(c *linearCall) bool {
	given := s.prior
	if s.released && s.unseen {
		given = s.token
	}
	return c.shadowed && s.resource == c.had.Resource && given == c.had.Token
}

// lost reports whether a call may fail because its lease is not the key's any more, or is being
// renewed.
func (s linearState) lost(c *linearCall) bool {
	if !errors.Is(c.err, ErrStale) && !errors.Is(c.err, ErrEnded) && !errors.Is(c.err, ErrReleased) {
		return false
	}
	return !s.current(c) || errors.Is(c.err, ErrStale) && s.half > 0 || s.released && !errors.Is(c.err, ErrStale)
}

// another returns the state after a call failed because of a lease that no caller has seen.
func (s linearState) another(c *linearCall, t linearTerms) []linearState {
	if s.now = s.begins(true, t); !c.shadowed || s.now > c.back || !errors.Is(c.err, ErrStale) && !errors.Is(c.err, ErrEnded) {
		return nil
	}
	s.unseen = true
	return []linearState{s}
}

// linearModel is the specification in the checker's form, for each key separately.
func linearModel(t linearTerms) porcupine.Model {
	m := porcupine.NondeterministicModel{
		Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
			of := map[string]int{}
			for _, o := range history {
				key := o.Input.(*linearCall).key
				i, ok := of[key]
				if !ok {
					i = len(parts)
					of[key], parts = i, append(parts, nil)
				}
				parts[i] = append(parts[i], o)
			}
			return parts
		},
		Init: func() []any { return []any{linearState{}} },
		Step: func(state, input, _ any) (next []any) {
			for _, s := range state.(linearState).step(input.(*linearCall), t) {
				next = append(next, s)
			}
			return next
		},
	}
	return m.ToModel()
}

// operations returns a history in the checker's form. Others may see the first write of a renewal
// or a release before it returns, or without the second, and may see before that what the call
// completed for another one: so a call has two operations named begin, which may have no effect. A
// get with an unknown outcome is omitted.
func operations(history []*linearCall) (all []porcupine.Operation) {
	add := func(c linearCall) {
		all = append(all, porcupine.Operation{ClientId: c.agent, Input: &c, Call: c.call, Output: &c, Return: c.done})
	}
	for _, c := range history {
		c.shadowed = slices.ContainsFunc(history, func(g *linearCall) bool {
			return g != c && g.op == "get" && g.key == c.key && g.call < c.done && (g.err != nil || g.done > c.call)
		})
		if c.op == "get" {
			if !c.unknown() {
				add(*c)
			}
			continue
		}
		begin := *c
		begin.op = "begin " + c.op
		if c.unknown() {
			begin.back, begin.done = forever, forever
		}
		add(begin) // for what another call began
		add(begin) // for its own
		if !c.unknown() {
			add(*c)
		}
	}
	return all
}

// linearUse is a lease, as the first caller received it.
type linearUse struct {
	*linearCall
	end int64
}

// uses returns the leases of a history, each once, and violations that do not depend on the order:
// two leases with one token, an end that no call requested, a lease that began twice.
func uses(history []*linearCall) (list []linearUse, wrong []string) {
	type id struct {
		resource string
		token    int64
	}
	type wish struct {
		key   string
		until int64
	}
	asked, at, begun := map[wish]int64{}, map[id]int{}, map[id]*linearCall{}
	for _, c := range history {
		if w := (wish{c.key, c.until}); c.op != "release" && (asked[w] == 0 || c.call < asked[w]) {
			asked[w] = c.call
		}
	}
	for _, c := range history {
		if c.err != nil || c.op == "release" {
			continue
		}
		u := linearUse{c, c.got.Expires.UnixMilli()}
		if by := asked[wish{c.key, u.end}]; by == 0 || by > c.done {
			wrong = append(wrong, fmt.Sprintf("no call requested this end: %v", c))
		}
		of := id{c.got.Resource, c.got.Token}
		if c.got.New {
			if begun[of] != nil {
				wrong = append(wrong, fmt.Sprintf("began twice: %v; and %v", begun[of], c))
			}
			begun[of] = c
		}
		i, ok := at[of]
		switch {
		case !ok:
			at[of], list = len(list), append(list, u)
		case list[i].key != c.key || list[i].end != u.end:
			wrong = append(wrong, fmt.Sprintf("one token, two leases: %v; and %v", list[i], c))
		case c.back < list[i].back:
			list[i] = u
		}
	}
	return list, wrong
}

// overlaps returns the leases of a history that exclude each other. A use of a resource begins when
// a call has returned it and may last until the lease's end, also after a release, because other
// users of the key may not know of it.
//
//   - Of two keys that have a resource one after the other, the later one has the greater token,
//     and has it only when the earlier lease and the quarantine have ended.
//   - A key that gets another resource gets it after the end of all leases of the former one.
func overlaps(history []*linearCall, t linearTerms) []string {
	list, wrong := uses(history)
	slices.SortStableFunc(list, func(a, b linearUse) int { return int(a.got.Token - b.got.Token) })
	for i, a := range list {
		for _, b := range list[i+1:] { // with a greater token, if it is the same resource
			sameKey, sameResource := a.key == b.key, a.got.Resource == b.got.Resource
			switch {
			case sameResource && !sameKey && b.back < a.end+t.quarantine:
				wrong = append(wrong, fmt.Sprintf("%s is of two keys: %v; and %v", a.got.Resource, a, b))
			case sameKey && !sameResource && b.back < a.end-t.skew && a.back < b.end-t.skew:
				wrong = append(wrong, fmt.Sprintf("%s has two resources: %v; and %v", a.key, a, b))
			}
		}
	}
	return wrong
}

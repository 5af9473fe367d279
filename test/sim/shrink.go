package sim

import (
	"fmt"
	"slices"
	"strings"
)

// Shrink reduces a scenario while it violates the same invariant: fewer and shorter faults, fewer
// agents, keys, resources and regions.
func Shrink(s *Scenario, mutation Mutation, invariant string) *Scenario {
	fails := func(s *Scenario) bool { // a smaller scenario draws other random numbers: try a few
		for range 4 {
			if slices.ContainsFunc(Check(Run(s, mutation, false)), func(v Violation) bool { return v.Invariant == invariant }) {
				return true
			}
			s.Reseed++
		}
		return false
	}
	for smaller := true; smaller; {
		smaller = false
		for _, try := range reductions(s) {
			if fails(try) {
				s, smaller = try, true
				break
			}
		}
	}
	return s
}

// reductions returns the scenario without one of its parts, the greatest reduction first.
func reductions(s *Scenario) (list []*Scenario) {
	add := func(change func(*Scenario)) {
		c := *s
		c.Faults = slices.Clone(s.Faults)
		change(&c)
		list = append(list, &c)
	}
	if len(s.Faults) > 1 {
		add(func(c *Scenario) { c.Faults = nil })
		add(func(c *Scenario) { c.Faults = c.Faults[:len(c.Faults)/2] })
		add(func(c *Scenario) { c.Faults = c.Faults[len(c.Faults)/2:] })
	}
	for i := range s.Faults {
		add(func(c *Scenario) { c.Faults = slices.Delete(c.Faults, i, i+1) })
	}
	last := s.Warm
	for _, f := range s.Faults {
		last = max(last, f.To)
	}
	for _, heal := range []int64{last + 4000, s.Heal / 2, s.Heal - 5000} {
		if heal < s.Heal && heal >= 3000 {
			add(func(c *Scenario) { c.Heal = heal })
		}
	}
	for _, n := range []struct{ of func(*Scenario) *int }{
		{of: func(s *Scenario) *int { return &s.Agents }},
		{of: func(s *Scenario) *int { return &s.Keys }},
		{of: func(s *Scenario) *int { return &s.Resources }},
	} {
		for _, to := range []int{*n.of(s) / 2, *n.of(s) - 1} {
			if to >= 1 && to < *n.of(s) {
				add(func(c *Scenario) { *n.of(c) = to })
			}
		}
	}
	if s.Regions > 2 {
		add(func(c *Scenario) {
			c.Regions--
			c.Faults = slices.DeleteFunc(c.Faults, func(f Fault) bool { return f.Region >= c.Regions })
		})
	}
	return list
}

// maxLines is the greatest number of printed lines of a transcript.
const maxLines = 80

// Explain describes a failure: the violated invariant, the reduced scenario with its transcript,
// and the command that repeats the seed.
func Explain(s *Scenario, mutation Mutation, v Violation) string {
	small := Shrink(s, mutation, v.Invariant)
	h := Run(small, mutation, true)
	bad := Check(h)
	i := slices.IndexFunc(bad, func(x Violation) bool { return x.Invariant == v.Invariant })
	if i < 0 {
		return fmt.Sprintf("%v\n(a second run of the reduced scenario does not show the violation)", v)
	}
	again := fmt.Sprintf("WEIR_TEST_SIM_SEED=%d go test ./test/sim -run TestSeeds -v", s.Seed)
	lines := slices.Collect(strings.Lines(Excerpt(h.Transcript, bad[i].Names...)))
	if n := len(lines) - maxLines; n > 0 {
		lines = slices.Insert(lines[n:], 0, fmt.Sprintf("  ... %d earlier lines\n", n))
	}
	return fmt.Sprintf("seed %d: %v\n\nIn a smaller scenario of the same seed: %v\n%v\n%s\nThe whole transcript: %s", s.Seed, v, bad[i],
		small, strings.Join(lines, ""), again)
}

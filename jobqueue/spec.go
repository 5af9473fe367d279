package jobqueue

import (
	"fmt"
	"slices"
)

// Priorities is the number of priorities: 0 to 15.
const Priorities = 16

const (
	maxNames = 64  // resources of a job
	maxName  = 256 // bytes of a name
	maxAfter = 100 // jobs that a job waits for
	maxHas   = 10_000
)

// Spec is what a queue has to know about a job. The payload of the job is not part of it.
type Spec struct {
	// Require has the resources that an agent must have. Their order is of no importance.
	Require []string
	// Prefer has resources of which an agent should have one, to run the job at lower cost: a
	// cache, a database shard, a region. Without any, all agents are equal.
	Prefer []string
	// Priority is from 0 to 15; greater is more urgent.
	Priority uint8
	// NotBefore is the earliest start, Unix ms; 0: at once.
	NotBefore int64
	// After has the jobs that must be Done before. They must have been submitted.
	After []ID
	// Key makes the submission idempotent: of the jobs with one key, the queue has the first. The
	// others may differ from it in NotBefore only. Empty: no key. A key is forgotten when its job
	// is evicted.
	Key string
	// Group is the name of a set of jobs that clients watch and cancel together; empty: no group.
	Group string
}

// Validate returns an error that wraps ErrInvalid if no queue takes a job with the specification.
func (s *Spec) Validate() error {
	if err := validNames(s.Require, maxNames); err != nil {
		return fmt.Errorf("required resources: %w", err)
	}
	if err := validNames(s.Prefer, maxNames); err != nil {
		return fmt.Errorf("preferred resources: %w", err)
	}
	switch {
	case s.Priority >= Priorities:
		return fmt.Errorf("%w priority %d: 0 to %d are possible", ErrInvalid, s.Priority, Priorities-1)
	case s.NotBefore < 0:
		return fmt.Errorf("%w earliest start %d: it is before 1970", ErrInvalid, s.NotBefore)
	case len(s.After) > maxAfter:
		return fmt.Errorf("%w specification: it waits for %d jobs, %d are possible", ErrInvalid, len(s.After), maxAfter)
	case len(s.Key) > maxName || len(s.Group) > maxName:
		return fmt.Errorf("%w specification: a key or group has more than %d bytes", ErrInvalid, maxName)
	}
	return nil
}

func validNames(names []string, most int) error {
	if len(names) > most {
		return fmt.Errorf("%w list: %d names, %d are possible", ErrInvalid, len(names), most)
	}
	for _, n := range names {
		if n == "" || len(n) > maxName {
			return fmt.Errorf("%w name %.20q: 1 to %d bytes are possible", ErrInvalid, n, maxName)
		}
	}
	return nil
}

// Profile is what an agent declares.
type Profile struct {
	// Has has the resources of the agent.
	Has []string
	// Slots is how many jobs it runs at a time; 0: any number.
	Slots int
}

func (p *Profile) validate() error {
	if p.Slots < 0 {
		return fmt.Errorf("%w number of slots %d", ErrInvalid, p.Slots)
	}
	if err := validNames(p.Has, maxHas); err != nil {
		return fmt.Errorf("resources of the agent: %w", err)
	}
	return nil
}

// canonical returns names in ascending order, each once. It returns names itself if they are so.
func canonical(names []string) []string {
	for i := 1; i < len(names); i++ {
		if names[i-1] >= names[i] {
			sorted := slices.Clone(names)
			slices.Sort(sorted)
			return slices.Compact(sorted)
		}
	}
	return names
}

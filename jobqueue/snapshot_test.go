package jobqueue

import (
	"errors"
	"testing"
)

// TestRestoreRefuses: a snapshot that no queue can have is refused.
func TestRestoreRefuses(t *testing.T) {
	for name, damage := range map[string]func(s *Snapshot){
		"a job twice":                     func(s *Snapshot) { s.Jobs = append(s.Jobs, s.Jobs[0]) },
		"a job after the last":            func(s *Snapshot) { s.Last = 0 },
		"a job without a segment":         func(s *Snapshot) { s.Segments = nil },
		"a job in a closed segment":       func(s *Snapshot) { s.Segments[0].Closed = true },
		"a segment at an odd place":       func(s *Snapshot) { s.Segments[0].First = 1 },
		"a segment twice":                 func(s *Snapshot) { s.Segments = append(s.Segments, s.Segments[0]) },
		"a state that does not exist":     func(s *Snapshot) { s.Jobs[0].State = 9 },
		"a running job without its agent": func(s *Snapshot) { s.Agents = nil },
		"a running job without attempt":   func(s *Snapshot) { s.Jobs[0].Attempt = 0 },
		"a bad specification":             func(s *Snapshot) { s.Jobs[0].Spec.Priority = 16 },
		"a bad agent":                     func(s *Snapshot) { s.Agents[1].Profile.Slots = -1 },
	} {
		s := queueWith(t, Running).Snapshot()
		damage(s)
		if _, err := Restore(Config{}, s); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

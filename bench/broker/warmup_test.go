package broker

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestWarmUp: passes that are not timed end with two that are about equally fast, and after six in
// any case.
func TestWarmUp(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		speeds []float64 // of the passes; 0 fails
		passes int
		note   string
		err    error
	}{
		"warm":         {[]float64{3e6, 2.9e6, 1e6}, 2, "warm-up 2: bare 2.90 M/s", nil},
		"cold":         {[]float64{1e6, 2e6, 2.9e6, 3e6, 3e6}, 4, "warm-up 4: bare 3.00 M/s", nil},
		"slower again": {[]float64{3e6, 2e6, 2.1e6}, 3, "warm-up 3", nil},
		"never steady": {[]float64{1e6, 2e6, 1e6, 2e6, 1e6, 2e6, 1e6}, 6, "the broker is not steady", nil},
		"fails":        {[]float64{1e6, 0}, 2, "warm-up 1", broken},
	} {
		t.Run(name, func(t *testing.T) {
			passes, notes := 0, []string{}
			err := warmUp(func() (float64, error) {
				passes++
				if c.speeds[passes-1] == 0 {
					return 0, broken
				}
				return c.speeds[passes-1], nil
			}, func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) })
			if !errors.Is(err, c.err) || passes != c.passes || !strings.Contains(notes[len(notes)-1], c.note) {
				t.Errorf("%v after %d passes, want %v after %d: %q", err, passes, c.err, c.passes, notes)
			}
		})
	}
}

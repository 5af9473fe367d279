package lint

import (
	"slices"
	"testing"
)

func TestOutside(t *testing.T) {
	all := []string{"README.md:1: x", "a/a.go:1: x", "a/b/c.go:2: x", "ab/c.go:3: x"}
	for _, tc := range []struct {
		name                string
		pending, rest, idle []string
	}{
		{"nothing is pending", nil, all, nil},
		{"a file", []string{"README.md"}, all[1:], nil},
		{"a folder", []string{"a"}, []string{all[0], all[2], all[3]}, nil},
		{"a folder with those below", []string{"a/..."}, []string{all[0], all[3]}, nil},
		{"everything", []string{"README.md", "a/...", "ab"}, nil, nil},
		{"a folder that is clean", []string{"a/...", "c", "a/b/d"}, []string{all[0], all[3]}, []string{"c", "a/b/d"}},
		{"covered twice", []string{"a", "a/..."}, []string{all[0], all[3]}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rest, idle := Outside(all, tc.pending)
			if !slices.Equal(rest, tc.rest) || !slices.Equal(idle, tc.idle) {
				t.Errorf("rest %q and idle %q, want %q and %q", rest, idle, tc.rest, tc.idle)
			}
		})
	}
}

package lint

import (
	"fmt"
	"testing"
)

func TestCheckText(t *testing.T) {
	for _, tc := range []struct{ path, text, want string }{
		{"a.go", "a\n// " + marks()[0] + ": later", "a.go:2: " + marks()[0]},
		{"a.go", "context." + marks()[0] + "()", "a.go:1"},
		{"README.md", "x " + marks()[1] + " y", "README.md:1: " + marks()[1]},
		{"a.go", "mas" + marks()[0] + "n", ""},
		{"Makefile", "pull " + hosts()[0] + "/x", "Makefile:1: " + hosts()[0]},
		{"a.go", "https://" + hosts()[6] + ",direct", hosts()[6]},
		{"a.go", "my" + hosts()[3], ""},
		{"go.mod", hosts()[0] + "/x", ""},
		{"tools/go.sum", marks()[0], ""},
		{"a/testdata/x", marks()[0], ""},
		{"a.bin", "\x00" + marks()[0], ""},
		{"a.md", "apache/kafka:4.3.1", ""},
	} {
		t.Run(fmt.Sprintf("%s %.20q", tc.path, tc.text), func(t *testing.T) {
			one(t, CheckText([]File{{tc.path, []byte(tc.text)}}), tc.want)
		})
	}
}

package connect

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestSkipFlags: a skip needs a reason of at most 200 bytes, and --to. To show the loss needs no
// reason.
func TestSkipFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--to 8":                       "",
		"--to 8 --why reason --yes":    "",
		"--why reason":                 `required flag(s) "to" not set`,
		"--to 8 --yes":                 "--why is missing",
		"--to 8 --yes --why LONG":      "",
		"--to 8 --yes --why TOOLONG":   "--why has 201 bytes",
		"--to 8 --why TOOLONG":         "--why has 201 bytes",
		"--to 8 --why reason --wait x": "invalid argument",
	} {
		s := &SkipFlags{}
		c := &cobra.Command{Use: "skip", SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error { return s.Check() }}
		s.Add(c, "read")
		c.SetArgs(strings.Fields(strings.NewReplacer("TOOLONG", strings.Repeat("x", 201), "LONG", strings.Repeat("x", 200)).Replace(args)))
		switch err := c.Execute(); {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, not %q", args, err, want)
		case want == "" && s.To != 8:
			t.Errorf("%s: to %d", args, s.To)
		}
	}
}

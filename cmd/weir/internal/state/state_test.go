package state

import (
	"strings"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/clitest"
)

func TestStateCommandLine(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"no table":      {[]string{"get", "k"}, []string{"--table is missing"}},
		"no key":        {[]string{"get", "--table", "spend"}, []string{"the argument KEY is missing"}},
		"half a byte":   {[]string{"get", "--table", "spend", `c\x0`}, []string{`\xNN`, "--hex"}},
		"another slash": {[]string{"scan", "--table", "spend", "--prefix", `c\n`}, []string{`\xNN`}},
		"no hex":        {[]string{"get", "--table", "spend", "--hex", "c1x"}, []string{"0-9 and a-f"}},
		"limit":         {[]string{"scan", "--table", "spend", "--limit", "0"}, []string{"--limit 0", "1 or more"}},
		"command":       {[]string{"sacn"}, []string{"did you mean `weir state scan`?"}},
		"no server":     {[]string{"hash", "--server", "127.0.0.1:1"}, []string{"connection refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := clitest.Run(t, Commands, nil, append([]string{"state"}, c.args...)...)
			code := 64
			if name == "no server" {
				code = 69
			}
			for _, w := range append(c.want, "\n  why: ", "\n  do:  ") {
				if r.Code != code || r.Stdout != "" || !strings.Contains(r.Stderr, w) {
					t.Errorf("code %d, want %d and %q:\n%s", r.Code, code, w, r.Stderr)
				}
			}
		})
	}
}

package integration

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestLockedDirectory checks the conditions under which `weir run` does not start: exit code, cause
// and remedy.
func TestLockedDirectory(t *testing.T) {
	c := shared(t)
	refused := func(t *testing.T, code int, words []string, args ...string) {
		t.Helper()
		r := weir(t, append([]string{"run"}, args...)...)
		if r.code != code || r.stdout != "" {
			t.Errorf("code %d, want %d; stdout %q", r.code, code, r.stdout)
		}
		for _, w := range append(words, "weir: ", "\n  why: ", "\n  do:  ") {
			if !strings.Contains(r.stderr, w) {
				t.Errorf("the output lacks %q:\n%s", w, r.stderr)
			}
		}
	}
	a := newInstance(c, "a")
	t.Run("locked", func(t *testing.T) {
		p := a.start()
		p.ready()
		refused(t, 73, []string{"instance " + a.name, fmt.Sprintf("process %d", p.cmd.Process.Pid)}, "-f", a.config, "--instance", "other")
		p.alive()
		p.kill()
		// The lock ends with its process, even after SIGKILL.
		q := a.start()
		q.ready()
		q.kill()
	})
	t.Run("wrong key", func(t *testing.T) {
		file := a.config + ".wrong.yaml"
		if err := os.WriteFile(file, []byte("kafka: {brokerz: [127.0.0.1:1]}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		refused(t, 78, []string{"kafka.brokerz", `did you mean "kafka.brokers"?`, file + ":1"}, "-f", file)
	})
	t.Run("missing topics", func(t *testing.T) {
		c.clear()
		refused(t, 69, []string{"ads.", "`weir topics apply --for spend`"}, "-f", newInstance(c, "b").config)
	})
}

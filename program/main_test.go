package program_test

import (
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/program"
)

// envMain makes TestConfigMain the program.
const envMain = "WEIR_TEST_PROGRAM_MAIN"

// TestConfigMain: Main reads the flags of a program with one of its own, and ends with status 1 and
// the error.
func TestConfigMain(t *testing.T) {
	if os.Getenv(envMain) != "" {
		var cfg program.Config
		flag.StringVar(&cfg.Advertise, "advertise", "", "")
		os.Args = []string{os.Args[0], "-listen", "127.0.0.1:0", "-advertise", "nowhere"}
		cfg.Main(count())
		return
	}
	cmd := exec.CommandContext(testlimit.Context(t), os.Args[0], "-test.run", "^TestConfigMain$") //nolint:gosec // the test itself
	cmd.Env = append(os.Environ(), envMain+"=1")
	out, err := cmd.CombinedOutput()
	if want := `error: invalid configuration: Advertise "nowhere" is not host:port`; cmd.ProcessState.ExitCode() != 1 || !strings.HasPrefix(string(out), want) {
		t.Errorf("%v, %s\nwant %s", err, out, want)
	}
}

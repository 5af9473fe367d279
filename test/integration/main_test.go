package integration

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testlimit"
)

// TestMain passes these values to the tests by environment variables, because a package must not
// have variables that change.
const (
	envBinary = "WEIR_TEST_BINARY"
	envShared = "WEIR_TEST_SHARED" // the brokers that the tests share, a line each (broker.line)
	envCerts  = "WEIR_TEST_CERTS"  // directory of the brokers' certificates and their authority
	envSkip   = "WEIR_TEST_SKIP"   // reason to skip the tests
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(withEngine(m))
}

// withEngine builds the binary and starts the brokers that the tests share, and removes them after
// the tests.
func withEngine(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if why := cannotRun(ctx); why != "" {
		return with(m, map[string]string{envSkip: why})
	}
	if _, ok := os.LookupEnv("TESTCONTAINERS_RYUK_DISABLED"); !ok { // avoids another image: the cleanup is below
		if err := os.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true"); err != nil {
			return broken(err)
		}
	}
	dir, err := os.MkdirTemp("", "weir-integration-")
	if err != nil {
		return broken(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary := filepath.Join(dir, "weir")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "../../cmd/weir").CombinedOutput(); err != nil {
		return broken(fmt.Errorf("build the binary: %w\n%s", err, out))
	}
	err = errors.Join(os.Setenv(envCerts, dir), writeBrokerCerts(dir))
	if err != nil {
		return broken(err)
	}
	n, err := lanes()
	if err != nil {
		return broken(err)
	}
	list, err := startBrokers(ctx, n)
	defer func() {
		for _, b := range list {
			b.terminate()
		}
	}()
	if err != nil {
		return broken(err)
	}
	var lines []string
	for _, b := range list {
		lines = append(lines, b.line())
	}
	return with(m, map[string]string{envBinary: binary, envShared: strings.Join(lines, "\n")})
}

// lanes returns the number of tests that run side by side, each with a broker of its own: two, or
// fewer by the flag -parallel.
func lanes() (int, error) {
	const most = 2
	n, err := strconv.Atoi(flag.Lookup("test.parallel").Value.String())
	if err != nil || n <= most {
		return n, err
	}
	return most, flag.Set("test.parallel", strconv.Itoa(most))
}

// cannotRun returns the reason to skip the tests, or "".
func cannotRun(ctx context.Context) string {
	if testing.Short() {
		return "needs containers: not with -short"
	}
	ctx, cancel := context.WithTimeout(ctx, testlimit.Limit)
	defer cancel()
	if err := exec.CommandContext(ctx, "docker", "info").Run(); err != nil {
		return fmt.Sprintf("no Docker engine answers `docker info` (%v): start one to run the tests on containers", err)
	}
	return ""
}

// with runs the tests with the additional environment variables env.
func with(m *testing.M, env map[string]string) int {
	for k, v := range env {
		if err := os.Setenv(k, v); err != nil {
			return broken(err)
		}
	}
	return m.Run()
}

func broken(err error) int {
	fmt.Fprintln(os.Stderr, "the tests on containers cannot start:", err)
	return 1
}

// need skips the test if it cannot run.
func need(t *testing.T) {
	t.Helper()
	if why := os.Getenv(envSkip); why != "" {
		t.Skip(why)
	}
}

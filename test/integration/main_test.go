package integration

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// TestMain passes these values to the tests by environment variables.
const (
	envBinary = "WEIR_TEST_BINARY"
	envSkip   = "WEIR_TEST_SKIP" // reason to skip the tests
)

// lanes returns the number of brokers that TestMain starts: so many tests run at one time. With two
// on two cores, tests missed their time limits: a test takes a core and its broker another one.
func lanes() int { return min(maxLanes, max(1, runtime.NumCPU()/4)) }

const maxLanes = 4

// brokers has the brokers that no test uses.
var brokers = make(chan *broker, maxLanes) //nolint:gochecknoglobals // TestMain passes containers by no other way

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
	for range lanes() {
		b, err := startBroker(ctx)
		if err != nil {
			return broken(err)
		}
		defer b.terminate()
		brokers <- b
	}
	return with(m, map[string]string{envBinary: binary})
}

// cannotRun returns the reason to skip the tests, or "".
func cannotRun(ctx context.Context) string {
	if testing.Short() {
		return "needs containers: not with -short"
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
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

// need skips the test if it cannot run. The test runs in parallel with others.
func need(t *testing.T) {
	t.Helper()
	if why := os.Getenv(envSkip); why != "" {
		t.Skip(why)
	}
	t.Parallel()
}

// take returns a shared broker that the test has alone. The cleanup returns it after all cleanups
// that the test registers later.
func take(t *testing.T) *broker {
	t.Helper()
	need(t)
	select {
	case b := <-brokers:
		t.Cleanup(func() { brokers <- b })
		return b
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
		return nil
	}
}

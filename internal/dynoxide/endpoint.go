// Package dynoxide runs another implementation of DynamoDB, dynoxide, in a container: for tests that compare with it.
package dynoxide

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
)

// Endpoint starts it in a container, for the test's time, and returns where it answers. DIFF_ENDPOINT names one that runs
// already. Where there is no engine or no image the test is skipped, and says what it would have been for.
func Endpoint(t testing.TB, what string) string {
	t.Helper()
	if e := os.Getenv("DIFF_ENDPOINT"); e != "" {
		return e
	}
	if testing.Short() {
		t.Skip("needs a container, which -short leaves out")
	}
	if err := exec.CommandContext(t.Context(), "docker", "info").Run(); err != nil {
		t.Skipf("no Docker engine answers `docker info` (%v): start one to %s", err, what)
	}
	const image = "dynoxide:3.2.0"
	if err := exec.CommandContext(t.Context(), "docker", "image", "inspect", image).Run(); err != nil {
		t.Skipf("the Docker engine has no image %s: build or pull it to %s", image, what)
	}
	t.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true") // one more image to pull, to do what Cleanup does
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	// Any answer will do. That the port is open says nothing: the engine's proxy opens it before the container has.
	answers := wait.ForHTTP("/").WithPort("8000/tcp").WithStatusCodeMatcher(func(int) bool { return true })
	box, err := testcontainers.Run(ctx, image, testcontainers.WithExposedPorts("8000/tcp"), testcontainers.WithWaitStrategy(answers))
	testcontainers.CleanupContainer(t, box)
	if err != nil {
		t.Fatal(err)
	}
	port, err := box.MappedPort(ctx, "8000/tcp")
	if err != nil {
		t.Fatal(err)
	}
	host := os.Getenv("TESTCONTAINERS_HOST_OVERRIDE")
	if host == "" || host == "localhost" {
		host = "127.0.0.1"
	}
	return "http://" + host + ":" + port.Port()
}

// Package dynoxide runs dynoxide, another implementation of DynamoDB, in a container. Tests compare
// package dynamotest with it.
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

// Endpoint starts dynoxide in a container for the duration of the test and returns its URL. If
// WEIR_TEST_DIFF_ENDPOINT is set, Endpoint returns that URL and starts nothing. Without a Docker
// engine or the image, it skips the test. purpose completes the reason of the skip: "start one to"
// purpose.
func Endpoint(t testing.TB, purpose string) string {
	t.Helper()
	if e := os.Getenv("WEIR_TEST_DIFF_ENDPOINT"); e != "" {
		return e
	}
	if testing.Short() {
		t.Skip("needs a container, which -short leaves out")
	}
	if err := exec.CommandContext(t.Context(), "docker", "info").Run(); err != nil {
		t.Skipf("no Docker engine answers `docker info` (%v): start one to %s", err, purpose)
	}
	const image = "dynoxide:3.2.0"
	if err := exec.CommandContext(t.Context(), "docker", "image", "inspect", image).Run(); err != nil {
		t.Skipf("the Docker engine has no image %s: build or pull it to %s", image, purpose)
	}
	t.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true") // Cleanup removes the container, so the cleaner's image is not needed
	var err error
	for range 3 { // an engine that starts several containers at one time may map a port to none of them
		var url string
		if url, err = start(t, image); err == nil {
			return url
		}
		t.Logf("start %s: %v", image, err)
	}
	t.Fatalf("%s did not start: %v", image, err)
	return ""
}

// start starts a container of image and returns its URL when it answers.
func start(t testing.TB, image string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	// Any answer means that dynoxide is ready. An open port does not: the engine's proxy opens the
	// port before dynoxide listens.
	answers := wait.ForHTTP("/").WithPort("8000/tcp").WithStatusCodeMatcher(func(int) bool { return true })
	box, err := testcontainers.Run(ctx, image, testcontainers.WithExposedPorts("8000/tcp"), testcontainers.WithWaitStrategy(answers))
	testcontainers.CleanupContainer(t, box)
	if err != nil {
		return "", err
	}
	port, err := box.MappedPort(ctx, "8000/tcp")
	if err != nil {
		return "", err
	}
	host := os.Getenv("TESTCONTAINERS_HOST_OVERRIDE")
	if host == "" || host == "localhost" {
		host = "127.0.0.1"
	}
	return "http://" + host + ":" + port.Port(), nil
}

// Package dynoxide runs dynoxide, another implementation of DynamoDB, in a container. Tests compare
// package dynamotest with it.
package dynoxide

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/testcontainers/testcontainers-go"

	"github.com/weirhq/weir/internal/pause"
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
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	box, err := testcontainers.Run(ctx, image, testcontainers.WithExposedPorts("8000/tcp"))
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
	url := "http://" + host + ":" + port.Port()
	if err := answers(ctx, url); err != nil {
		t.Fatal(err)
	}
	return url
}

// answers waits until url gives any answer. An open port is not enough: the engine's proxy opens
// the port before dynoxide listens. The wait strategies of testcontainers ask a host that they
// choose themselves, which cannot be reached everywhere.
func answers(ctx context.Context, url string) error {
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return fmt.Errorf("make request: %w", err)
		}
		res, err := http.DefaultClient.Do(req)
		if err == nil {
			return res.Body.Close()
		}
		if !pause.Poll(ctx) {
			return fmt.Errorf("dynoxide does not answer at %s: %w", url, err)
		}
	}
}

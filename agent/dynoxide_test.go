package agent

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
)

// The same agents and the same check on an implementation of DynamoDB that is not ours, in real time. What ours lets through
// by mistake, this one may refuse.
func TestLinearizableElsewhere(t *testing.T) {
	endpoint := elsewhere(t)
	for seed := range uint64(3) {
		r := linearDefaults(seed)
		r.agents, r.calls = 20, 12
		// Each length is longer than what a busy machine may take for a request.
		r.shortest, r.longest, r.pause, r.skew, r.quarantine = time.Second, 3*time.Second, 800*time.Millisecond, 200*time.Millisecond, 300*time.Millisecond
		client := dynamodb.New(dynamodb.Options{
			Region: linearRegion, BaseEndpoint: aws.String(endpoint), Credentials: credentials.NewStaticCredentialsProvider("a", "a", ""),
		})
		if seed > 0 {
			if _, err := client.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String(testTable)}); err != nil {
				t.Fatal(err)
			}
		}
		nothing := func() error { return nil }
		history := r.history(t, linearTable{client: func() *dynamodb.Client { return client }, furnished: nothing, calmed: nothing})
		if v := r.verdict(history); v != "" {
			t.Errorf("seed %d: %s", seed, v)
		}
		outcomes := map[string]int{}
		for _, c := range history {
			outcomes[c.outcome()]++
		}
		if t.Log(outcomes); outcomes["get"] < len(history)/4 || outcomes["renew"] == 0 || outcomes["release"] == 0 {
			t.Errorf("seed %d: too little came of the calls: %v", seed, outcomes)
		}
	}
}

// elsewhere starts the other implementation and returns where it answers. DIFF_ENDPOINT names one that runs already.
func elsewhere(t *testing.T) string {
	t.Helper()
	if e := os.Getenv("DIFF_ENDPOINT"); e != "" {
		return e
	}
	if testing.Short() {
		t.Skip("needs a container, which -short leaves out")
	}
	if err := exec.CommandContext(t.Context(), "docker", "info").Run(); err != nil {
		t.Skipf("no Docker engine answers `docker info` (%v): start one to run agents on another implementation", err)
	}
	const image = "dynoxide:3.2.0"
	if err := exec.CommandContext(t.Context(), "docker", "image", "inspect", image).Run(); err != nil {
		t.Skipf("the Docker engine has no image %s: build or pull it to run agents on another implementation", image)
	}
	t.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true") // one more image to pull, to do what Cleanup does
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
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

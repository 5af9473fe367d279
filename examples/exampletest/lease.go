package exampletest

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/lease/admin"
)

// RunLeaseWorker runs two lease workers on a DynamoDB in this process and kills one: started again
// under its key, it has the resource that it had. dir is of Build.
func RunLeaseWorker(t *testing.T, dir string) {
	const region = "eu-west-1"
	cloud, err := dynamotest.New(dynamotest.Config{Regions: []string{region}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := admin.New(admin.Config{
		Table: "weir-leases", Regions: []string{region},
		Client:  func(r string) *dynamodb.Client { return cloud.Region(r).Client() },
		Streams: func(r string) *dynamodbstreams.Client { return cloud.Region(r).StreamsClient() },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.Limit)
	defer cancel()
	prepareLeases(ctx, t, a, region)
	server := httptest.NewServer(cloud.Region(region).Handler())
	defer server.Close()

	env := append(os.Environ(), "AWS_ACCESS_KEY_ID=any", "AWS_SECRET_ACCESS_KEY=any")
	work := func(key string) *Process {
		return Start(t, filepath.Join(dir, "leaseworker"), env, "-endpoint", server.URL, "-region", region, "-key", key, "-term", "2s")
	}
	first, second := work("worker-1"), work("worker-2")
	resource, other := first.leased(ctx), second.leased(ctx)
	if resource == other {
		t.Errorf("two keys have resource %s", resource)
	}
	second.await(ctx, "renewed "+other)
	first.Kill()
	first = work("worker-1")
	if again := first.leased(ctx); again != resource {
		t.Errorf("worker-1 had %s before the kill and has %s after it", resource, again)
	}
	first.Stop()
	second.Stop()
	first.await(ctx, "released "+resource)
	second.await(ctx, "released "+other)
}

// prepareLeases makes a table with a pool of three resources.
func prepareLeases(ctx context.Context, t *testing.T, a *admin.Admin, region string) {
	t.Helper()
	err := a.Apply(ctx, func(admin.TableStep) {})
	if err == nil {
		_, err = admin.Create(ctx, a, admin.Region{Region: region})
	}
	if err == nil {
		_, err = admin.Create(ctx, a, admin.Client{Client: "demo"})
	}
	if err == nil {
		_, err = admin.Create(ctx, a, admin.Pool{Client: "demo", Pool: "demo"})
	}
	for _, name := range []string{"a", "b", "c"} {
		if err == nil {
			_, err = a.CreateResource(ctx, "demo", "demo", region, name)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// leased waits for the line that names the resource.
func (p *Process) leased(ctx context.Context) (resource string) {
	p.t.Helper()
	line := p.await(ctx, "leased ")
	return strings.Fields(line)[1]
}

// await waits for a line of the standard output that begins with prefix.
func (p *Process) await(ctx context.Context, prefix string) (found string) {
	p.t.Helper()
	p.waitFor(ctx, fmt.Sprintf("a line that begins with %q", prefix), func() bool {
		for line := range strings.Lines(p.stdout.String()) {
			if found == "" && strings.HasPrefix(line, prefix) && strings.HasSuffix(line, "\n") {
				found = line
			}
		}
		return found != ""
	})
	return found
}

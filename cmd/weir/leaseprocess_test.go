package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
	"github.com/weirhq/weir/cmd/weir/internal/lease"
	"github.com/weirhq/weir/internal/testlimit"
)

// Fifty processes at once, two for each key: the two have one resource, and no other has it.
func TestLeaseProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a binary: run without -short")
	}
	binary := filepath.Join(t.TempDir(), "weir")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	env := clitest.DynamoDB(t)
	for _, line := range []string{
		"table apply", "region create eu", "region create us", "client create c", "pool create p --client c",
	} {
		if got := clitest.Run(t, lease.Commands, env, strings.Fields(line)...); got.Code != cli.ExitOK {
			t.Fatalf("weir %s: %+v", line, got)
		}
	}
	const processes = 50
	names := []string{"resource", "create", "--client", "c", "--pool", "p"}
	for i := range processes {
		names = append(names, fmt.Sprint("r", i))
	}
	if got := clitest.Run(t, lease.Commands, env, names...); got.Code != cli.ExitOK {
		t.Fatalf("%+v", got)
	}
	type result struct {
		Key, Resource string
		err           error
	}
	results := make([]result, processes)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), testlimit.Limit)
			defer cancel()
			key := fmt.Sprint("k", i/2)
			cmd := exec.CommandContext(ctx, binary, "lease", "get", "--client", "c", "--pool", "p", "--key", key, "-o", "json")
			cmd.Env = append(os.Environ(), env...)
			out, err := cmd.CombinedOutput()
			if err == nil {
				err = json.Unmarshal(out, &results[i])
			}
			if err != nil {
				results[i].err = errors.Join(err, errors.New(string(out)))
			}
		})
	}
	all.Wait()
	byKey, byResource := map[string]string{}, map[string]string{}
	for _, r := range results {
		if r.err != nil {
			t.Error(r.err)
			continue
		}
		if had, ok := byKey[r.Key]; ok && had != r.Resource {
			t.Errorf("key %s has %s and %s", r.Key, had, r.Resource)
		}
		if had, ok := byResource[r.Resource]; ok && had != r.Key {
			t.Errorf("%s is of %s and %s", r.Resource, had, r.Key)
		}
		byKey[r.Key], byResource[r.Resource] = r.Resource, r.Key
	}
	if len(byKey) != processes/2 {
		t.Errorf("%d keys have a lease, want %d", len(byKey), processes/2)
	}
}

package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/processors/kafka/acltest"
)

// TestRevokedRights takes rights from the user of a running spend counter, and grants them again.
// The process waits, and counts each event once.
func TestRevokedRights(t *testing.T) {
	if testing.Short() {
		t.Skip("a process meets many refused requests")
	}
	const user = "spendcounter"
	a := authorized{acltest.Start(t, user), []string{
		"WEIR_SPEND_PARTITIONS=2", "WEIR_TOPICS_REPLICATION_FACTOR=1", "WEIR_TOPICS_MIN_INSYNC=1",
		"WEIR_KAFKA_SASL_MECHANISM=PLAIN", "WEIR_KAFKA_SASL_PASSWORD=" + acltest.Password,
	}}
	expect(t, a.as(acltest.Admin), 0, "", "topics", "apply")
	lines := a.acls(t, user)
	a.cluster.Grant(t, user, lines...)
	var out clitest.Buffer
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, cli.Process{
			Args:    []string{"run", "--data-dir", t.TempDir(), "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"},
			Environ: a.as(user), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out,
		})
	}()
	defer func() {
		stop()
		if code := <-ended; code != 0 || t.Failed() {
			t.Errorf("the process ended with code %d:\n%s", code, out.String())
		}
	}()
	address, seen := regexp.MustCompile(`API http://([^,]+),`), 0
	// logged waits until the process has logged text some times since the last call.
	logged := func(text string, times int) {
		t.Helper()
		testlimit.Within(t, "the log has "+text, func(context.Context) error {
			if n := strings.Count(out.String()[seen:], text); n < times {
				return fmt.Errorf("%d of %d times", n, times)
			}
			return nil
		})
		seen = len(out.String())
	}
	logged("ready: ", 1)
	server := address.FindStringSubmatch(out.String())[1]
	a.count(t, server, 1)
	n := 1
	for _, c := range []struct {
		resource, right, want string
		times                 int
	}{
		{"--topic ads.events ", "Read", "TOPIC_AUTHORIZATION_FAILED", 2},
		{"--topic spend.by.local ", "Write", "produce to spend.by.local[", 4},
		{"--transactional-id ", "Write", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", 2},
		{"--group ", "Read", "GROUP_AUTHORIZATION_FAILED", 2},
		{"--", "", "AUTHORIZATION_FAILED", 20}, // all rights
	} {
		var revoked []string
		for _, line := range lines {
			resource, rights, _ := strings.Cut(line, "--operation ")
			for right := range strings.SplitSeq(rights, " --operation ") {
				if strings.HasPrefix(line, c.resource) && (c.right == "" || right == c.right) {
					revoked = append(revoked, resource+"--operation "+right)
				}
			}
		}
		seen = len(out.String())
		a.cluster.Revoke(t, user, revoked...)
		n++
		a.produce(t, server, n)
		logged(c.want, c.times)
		a.cluster.Grant(t, user, revoked...)
		a.counted(t, server, n)
	}
}

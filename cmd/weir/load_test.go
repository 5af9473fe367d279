package main

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/devbroker"
)

func loadCommands(a *app) []*cobra.Command { return append(devCommands(a), leaseCommands(a)...) }

// Events arrive and leases are held, with a table that weir load finds and a pool that it makes; a second one finds the pool.
func TestLoad(t *testing.T) {
	cfg, err := config.Load(config.Options{Hostname: func() (string, error) { return "host", nil }})
	if err != nil {
		t.Fatal(err)
	}
	broker, err := devbroker.Start(devbroker.Config{Topics: spendRole(cfg).Topics()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = broker.Close() }()
	env := append(DynamoDB(t), "WEIR_KAFKA_BROKERS="+strings.Join(broker.Addrs(), ","))
	if got := Run(t, loadCommands, env, "load"); got.Code != exitConfig || !strings.Contains(got.Stderr, "weir table plan") {
		t.Errorf("without a table: %+v", got)
	}
	if got := Run(t, loadCommands, env, "table", "apply"); got.Code != exitOK {
		t.Fatalf("%+v", got)
	}
	for range 2 {
		before := produced(t, broker.Addrs())
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		ended := make(chan int, 1)
		out := &Buffer{}
		go func() {
			ended <- Execute(ctx, loadCommands, process{args: []string{"load", "--rate", "2000"}, environ: env, stdin: strings.NewReader(""), stdout: out, stderr: out})
		}()
		for produced(t, broker.Addrs()) < before+1000 || strings.Count(Run(t, loadCommands, env, "lease", "list", "--client", "demo").Stdout, "-user-") < 3 {
			if !pause(ctx) {
				break
			}
		}
		stop()
		if code := <-ended; code != exitOK && code != exitInterrupted || ctx.Err() == context.DeadlineExceeded {
			t.Fatalf("code %d: %s", code, out.String())
		}
	}
}

func produced(t *testing.T, brokers []string) (n int64) {
	t.Helper()
	ends, err := processors.EndOffsets(t.Context(), processors.Kafka{Brokers: brokers}, events.EventsTopic)
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range ends[events.EventsTopic] {
		n += end
	}
	return n
}

// A region that is down does not answer, and one that was down does.
func TestDynamoDBFault(t *testing.T) {
	for _, tc := range []struct {
		fault, says string
		code        int
	}{
		{"region=a@0s", "fault: a is down", exitUnavailable},
		{"region=a@0s+50ms", "fault: a is back", exitOK},
	} {
		ctx, stop := context.WithCancel(t.Context())
		addr, out, ended := FreeAddr(t), &Buffer{}, make(chan int, 1)
		_, port, _ := net.SplitHostPort(addr)
		args := []string{"dynamodb", "--regions", "a", "--port", port, "--fault", "", "--fault", tc.fault}
		go func() {
			ended <- Execute(ctx, loadCommands, process{args: args, stdin: strings.NewReader(""), stdout: out, stderr: out})
		}()
		for !strings.Contains(out.String(), tc.says) && pause(t.Context()) {
			continue
		}
		if got := Run(t, loadCommands, nil, "table", "plan", "--regions", "a=http://"+addr); got.Code != tc.code {
			t.Errorf("--fault %s: %+v, want code %d", tc.fault, got, tc.code)
		}
		stop()
		<-ended
	}
	for _, bad := range []string{"duplicate", "region=b", "flood"} {
		if got := Run(t, loadCommands, nil, "dynamodb", "--regions", "a", "--fault", bad); got.Code != exitUsage {
			t.Errorf("--fault %s: %+v", bad, got)
		}
	}
}

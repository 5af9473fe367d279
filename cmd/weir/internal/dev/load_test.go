package dev

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
	"github.com/weirhq/weir/cmd/weir/internal/lease"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/processors/devbroker"
	"github.com/weirhq/weir/processors/kafka"
)

func loadCommands(a *cli.App) []*cobra.Command {
	return append(Commands(a), lease.Commands(a)...)
}

// weir load produces events and holds leases. The first run creates the pool, the second one finds
// it.
func TestLoad(t *testing.T) {
	cfg, err := config.Load(config.Options{Hostname: func() (string, error) { return "host", nil }})
	if err != nil {
		t.Fatal(err)
	}
	broker, err := devbroker.Start(devbroker.Config{Topics: node.SpendCounter(cfg).Topics()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = broker.Close() }()
	env := append(clitest.DynamoDB(t), "WEIR_KAFKA_BROKERS="+strings.Join(broker.Addrs(), ","))
	if got := clitest.Run(t, loadCommands, env, "load"); got.Code != cli.ExitConfig || !strings.Contains(got.Stderr, "weir table plan") {
		t.Errorf("without a table: %+v", got)
	}
	other := append(slices.Clone(env), "WEIR_SPEND_PARTITIONS=7")
	if got := clitest.Run(t, loadCommands, other, "load"); got.Code != cli.ExitConfig || !strings.Contains(got.Stderr, "set spend.partitions to 24") {
		t.Errorf("with another number of partitions: %+v", got)
	}
	if got := clitest.Run(t, loadCommands, env, "table", "apply"); got.Code != cli.ExitOK {
		t.Fatalf("%+v", got)
	}
	for range 2 {
		before := produced(t, broker.Addrs())
		ctx, stop := context.WithTimeout(t.Context(), testlimit.Limit)
		ended := make(chan int, 1)
		out := &clitest.Buffer{}
		go func() {
			ended <- clitest.Execute(ctx, loadCommands, cli.Process{Args: []string{"load", "--rate", "2000"}, Environ: env, Stdin: strings.NewReader(""), Stdout: out, Stderr: out})
		}()
		for produced(t, broker.Addrs()) < before+1000 || strings.Count(clitest.Run(t, loadCommands, env, "lease", "list", "--client", "demo").Stdout, "-user-") < 3 {
			if !pause.Poll(ctx) {
				break
			}
		}
		stop()
		if code := <-ended; code != cli.ExitOK && code != cli.ExitInterrupted || ctx.Err() == context.DeadlineExceeded {
			t.Fatalf("code %d: %s", code, out.String())
		}
	}
}

// weir load --no-leases needs no lease table.
func TestLoadOfEvents(t *testing.T) {
	broker, err := devbroker.Start(devbroker.Config{Topics: events.Catalog("local", events.Layout{})})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = broker.Close() }()
	env := []string{"WEIR_KAFKA_BROKERS=" + strings.Join(broker.Addrs(), ","), "WEIR_LEASES_REGIONS=eu=http://127.0.0.1:1"}
	ctx, stop := context.WithTimeout(t.Context(), testlimit.Limit)
	defer stop()
	ended, out := make(chan int, 1), &clitest.Buffer{}
	go func() {
		ended <- clitest.Execute(ctx, loadCommands, cli.Process{
			Args: []string{"load", "--rate", "2000", "--no-leases"}, Environ: env, Stdin: strings.NewReader(""), Stdout: out, Stderr: out,
		})
	}()
	for produced(t, broker.Addrs()) < 500 && pause.Poll(ctx) {
		continue
	}
	stop()
	if code := <-ended; code != cli.ExitOK && code != cli.ExitInterrupted || ctx.Err() == context.DeadlineExceeded {
		t.Fatalf("code %d: %s", code, out.String())
	}
}

func produced(t *testing.T, brokers []string) (n int64) {
	t.Helper()
	ends, err := kafka.EndOffsets(t.Context(), kafka.Cluster{Brokers: brokers}, events.EventsTopic)
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range ends[events.EventsTopic] {
		n += end
	}
	return n
}

// A region does not answer while it is down, and answers afterwards.
func TestDynamoDBFault(t *testing.T) {
	for _, tc := range []struct {
		fault, want string
		code        int
	}{
		{"region=a@0s", "fault: a is down", cli.ExitUnavailable},
		{"region=a@0s+50ms", "fault: a is up again", cli.ExitOK},
	} {
		ctx, stop := context.WithCancel(t.Context())
		addr, out, ended := clitest.FreeAddr(t), &clitest.Buffer{}, make(chan int, 1)
		_, port, _ := net.SplitHostPort(addr)
		args := []string{"dynamodb", "--regions", "a", "--port", port, "--fault", "", "--fault", tc.fault}
		go func() {
			ended <- clitest.Execute(ctx, loadCommands, cli.Process{Args: args, Stdin: strings.NewReader(""), Stdout: out, Stderr: out})
		}()
		for !strings.Contains(out.String(), tc.want) && pause.Poll(t.Context()) {
			continue
		}
		if got := clitest.Run(t, loadCommands, nil, "table", "plan", "--regions", "a=http://"+addr); got.Code != tc.code {
			t.Errorf("--fault %s: %+v, want code %d", tc.fault, got, tc.code)
		}
		stop()
		<-ended
	}
	for _, bad := range []string{"duplicate", "region=b", "flood"} {
		if got := clitest.Run(t, loadCommands, nil, "dynamodb", "--regions", "a", "--fault", bad); got.Code != cli.ExitUsage {
			t.Errorf("--fault %s: %+v", bad, got)
		}
	}
}

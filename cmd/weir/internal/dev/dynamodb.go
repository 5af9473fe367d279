package dev

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/internal/hostcheck"
)

// dynamoRegions are the names of the regions if --regions is a number.
//
//nolint:gochecknoglobals // a constant table; internal/lint rejects writes to it
var dynamoRegions = [...]string{"eu-west-1", "us-east-1", "us-west-2", "ap-southeast-1", "ap-northeast-1", "sa-east-1"}

// dynamo is a run of `weir dynamodb`.
type dynamo struct {
	a                              *cli.App
	regions, host, profile, access string
	dir                            string
	hosts                          []string
	port                           int
	seed                           uint64
	retention                      time.Duration
	fault                          []string
}

func newDynamoDBCmd(a *cli.App) *cobra.Command {
	d := &dynamo{a: a}
	c := &cobra.Command{
		Use:   "dynamodb",
		Short: "Serve a DynamoDB emulator with several regions, for development and tests",
		Long: "Serve a DynamoDB emulator with several regions: tables, indexes, streams, and global tables with\n" +
			"replication lag and last writer wins. It is for development and tests, not for data that matters.\n" +
			"An operation that is not implemented returns an error with its name. The first region listens on\n" +
			"--port, each further region on the next port. Any credentials are accepted.",
		Example: "  weir dynamodb --regions 3 --port 8000\n" +
			"  weir dynamodb --regions 3 --fault region=us-west-2@1m+2m\n" +
			"  AWS_ACCESS_KEY_ID=x AWS_SECRET_ACCESS_KEY=x aws dynamodb list-tables --endpoint-url http://127.0.0.1:8000 --region eu-west-1",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return d.run(cmd.Context()) },
	}
	cli.RefuseServer(c, "it is a server of DynamoDB; --host and --port are its own address")
	f := c.Flags()
	f.StringVar(&d.regions, "regions", "1", "number of regions, or their names separated by commas")
	f.IntVar(&d.port, "port", 8000, "port of the first region")
	f.StringVar(&d.host, "host", "127.0.0.1", "address to listen on")
	f.StringVar(&d.profile, "profile", "friendly",
		"behaviour of the regions: ideal, friendly (some lag) or hostile (lag, faults, new shards)")
	cli.Enum(f, "profile", "ideal", "friendly", "hostile")
	f.StringVar(&d.dir, "data-dir", "", "directory of the tables (default: in memory)")
	f.StringVar(&d.access, "access-key-id", "", "the only accepted access key id (default: any); required if --host is not loopback")
	f.StringSliceVar(&d.hosts, "allowed-hosts", nil,
		"names in the Host header that are answered beside --host, localhost and IP addresses, such as the name of a service in docker compose")
	f.StringArrayVar(&d.fault, "fault", nil,
		"fault to inject, such as region=us-west-2@5m+2m: the region is down after 5 minutes, for 2 minutes; repeatable")
	f.DurationVar(&d.retention, "stream-retention", 24*time.Hour, "time for which the records of a new stream can be read")
	f.Uint64Var(&d.seed, "seed", 0, "seed of random lags and faults")
	return c
}

func (d *dynamo) run(ctx context.Context) (err error) {
	cfg := dynamotest.Config{Seed: d.seed, Dir: d.dir, AccessKeyID: d.access, AllowedHosts: append(d.hosts, d.host)}
	if cfg.Regions, err = regionNames(d.regions); err != nil {
		return err
	}
	faults, err := d.faults(cfg.Regions)
	if err != nil {
		return err
	}
	switch d.profile {
	case "ideal":
	case "friendly":
		cfg.Profile = dynamotest.Friendly()
	case "hostile":
		cfg.Profile = dynamotest.Hostile()
	default:
		return cli.UsageError(fmt.Sprintf("--profile %q does not exist", d.profile), "use ideal, friendly or hostile")
	}
	if d.retention <= 0 {
		return cli.UsageError(fmt.Sprintf("--stream-retention %s is not a time above 0", d.retention),
			"give a time such as 10m; DynamoDB has 24h")
	}
	cfg.Profile.StreamRetention = d.retention
	if d.access == "" && !hostcheck.IsLoopback(d.host) {
		return cli.UsageError(fmt.Sprintf("--host %s can be reached from other machines", d.host),
			"give --access-key-id, or listen on 127.0.0.1")
	}
	if d.port < 0 || d.port+len(cfg.Regions) > 1<<16 {
		return cli.UsageError(fmt.Sprintf("--port %d is out of range, because %d regions need as many ports", d.port, len(cfg.Regions)),
			"use 1 to 65535, or 0 for any free port")
	}
	cloud, err := dynamotest.New(cfg)
	if err != nil {
		return cli.Fail(0, "cannot start DynamoDB", err, "correct the flags; no other process may use --data-dir")
	}
	defer func() { err = errors.Join(err, cloud.Close()) }()
	listeners, err := d.listen(ctx, len(cfg.Regions))
	if err != nil {
		return err
	}
	for i, region := range cfg.Regions {
		fmt.Fprintf(d.a.Stdout, "%s at http://%s\n", region, listeners[i].Addr())
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return cloud.Serve(ctx, listeners...) })
	g.Go(func() error {
		report := func(format string, args ...any) { fmt.Fprintf(d.a.Stdout, format+"\n", args...) }
		return (&faultInjector{cloud: cloud, regions: cfg.Regions, report: report}).run(ctx, faults)
	})
	return g.Wait()
}

// faults parses --fault. Duplicates need agents, which only weir dev has.
func (d *dynamo) faults(regions []string) (list []fault, err error) {
	for _, text := range d.fault {
		if text == "" {
			continue
		}
		f, err := parseFault(text, regions)
		if err != nil {
			return nil, err
		}
		if f.kind != faultRegion {
			return nil, cli.UsageError("weir dynamodb has no fault "+text, "write region=NAME@AFTER+LENGTH; `weir dev` has other faults")
		}
		list = append(list, f)
	}
	return list, nil
}

// listen listens on all ports, or on none.
func (d *dynamo) listen(ctx context.Context, n int) (list []net.Listener, err error) {
	for i := range n {
		port := d.port
		if port != 0 {
			port += i
		}
		var lc net.ListenConfig
		l, err := lc.Listen(ctx, "tcp", net.JoinHostPort(d.host, strconv.Itoa(port)))
		if err != nil {
			for _, l := range list {
				err = errors.Join(err, l.Close())
			}
			return nil, cli.Fail(0, fmt.Sprintf("cannot listen on port %d", port), err, "give another --port: each region needs a port")
		}
		list = append(list, l)
	}
	return list, nil
}

// namedRegions parses the names of regions, separated by commas.
func namedRegions(s string) ([]string, error) {
	names := strings.Split(s, ",")
	for i, name := range names {
		illegal := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' }
		switch {
		case name == "" || len(name) > 40 || strings.ContainsFunc(name, illegal):
			return nil, cli.UsageError(fmt.Sprintf("--regions: %q is not the name of a region", name),
				"write names of 1 to 40 characters of a-z, 0-9 and -, or a number of regions")
		case slices.Contains(names[:i], name):
			return nil, cli.UsageError(fmt.Sprintf("--regions names %s twice", name), "write each name once")
		}
	}
	return names, nil
}

// regionNames parses --regions: a number of regions, or their names.
func regionNames(s string) ([]string, error) {
	n, err := strconv.Atoi(s)
	if err != nil {
		return namedRegions(s) // not a number
	}
	if n < 1 || n > len(dynamoRegions) {
		return nil, cli.UsageError(fmt.Sprintf("--regions %d is out of range", n), fmt.Sprintf("use 1 to %d, or names", len(dynamoRegions)))
	}
	return dynamoRegions[:n], nil
}

package dev

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/dynamotest"
)

// dynamoRegions are the names that regions get when only their number is given.
//
//nolint:gochecknoglobals // a table: internal/lint complains about writes to it
var dynamoRegions = [...]string{"eu-west-1", "us-east-1", "us-west-2", "ap-southeast-1", "ap-northeast-1", "sa-east-1"}

// dynamo is `weir dynamodb`: the DynamoDB of weir's tests, alone.
type dynamo struct {
	a                              *cli.App
	regions, host, profile, access string
	dir                            string
	port                           int
	seed                           uint64
	fault                          []string
}

func newDynamoDBCmd(a *cli.App) *cobra.Command {
	d := &dynamo{a: a}
	c := &cobra.Command{
		Use:   "dynamodb",
		Short: "Serves a DynamoDB of several regions from this process, for tries and tests",
		Long: "Serves a DynamoDB of several regions from this process, for tries and tests: tables, indexes, streams, global tables with\n" +
			"lag and last-writer-wins. It is no database to keep anything in that matters. What it does not do it refuses by name.\n" +
			"Each region has its own port: the first has --port, the others those after it. Any credentials do.",
		Example: "  weir dynamodb --regions 3 --port 8000\n" +
			"  weir dynamodb --regions 3 --fault region=us-west-2@1m+2m\n" +
			"  AWS_ACCESS_KEY_ID=x AWS_SECRET_ACCESS_KEY=x aws dynamodb list-tables --endpoint-url http://127.0.0.1:8000 --region eu-west-1",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return d.run(cmd.Context()) },
	}
	f := c.Flags()
	f.StringVar(&d.regions, "regions", "1", "how many regions, or their names with commas between them")
	f.IntVar(&d.port, "port", 8000, "port of the first region")
	f.StringVar(&d.host, "host", "127.0.0.1", "address to listen at")
	f.StringVar(&d.profile, "profile", "friendly", "how regions behave: ideal, friendly (some lag) or hostile (lag, faults, shards that roll over)")
	f.StringVar(&d.dir, "data-dir", "", "directory that keeps the tables (default: they are gone at the end)")
	f.StringVar(&d.access, "access-key-id", "", "the only access key id that is let in (default: any); needed where --host is not this machine's own")
	f.StringArrayVar(&d.fault, "fault", nil, "a region that is down for a time, such as region=us-west-2@5m+2m: after five minutes, for two; can be given again; empty: none")
	f.Uint64Var(&d.seed, "seed", 0, "what lags and faults are drawn from")
	return c
}

func (d *dynamo) run(ctx context.Context) (err error) {
	cfg := dynamotest.Config{Seed: d.seed, Dir: d.dir, AccessKeyID: d.access}
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
		return cli.UsageError(fmt.Sprintf("--profile %q is not known", d.profile), "use ideal, friendly or hostile")
	}
	if ip := net.ParseIP(d.host); d.access == "" && d.host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return cli.UsageError(fmt.Sprintf("--host %s can be reached by others", d.host), "give an --access-key-id, or listen at 127.0.0.1")
	}
	if d.port < 0 || d.port+len(cfg.Regions) > 1<<16 {
		return cli.UsageError(fmt.Sprintf("--port %d is out of range for %d regions", d.port, len(cfg.Regions)), "use 1 to 65535, or 0 for any")
	}
	cloud, err := dynamotest.New(cfg)
	if err != nil {
		return cli.Fail(0, "cannot start DynamoDB", err, "correct the flags; a --data-dir must be no other process's")
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
		say := func(format string, args ...any) { fmt.Fprintf(d.a.Stdout, format+"\n", args...) }
		return (&faultInjector{cloud: cloud, regions: cfg.Regions, say: say}).run(ctx, faults)
	})
	return g.Wait()
}

// faults are those of regions: there is nobody here to lease anything twice.
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
			return nil, cli.UsageError("--fault "+text+" is not known here", "write region=NAME@AFTER+LENGTH; weir dev has the others")
		}
		list = append(list, f)
	}
	return list, nil
}

// listen takes the ports, all or none.
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
			return nil, cli.Fail(0, fmt.Sprintf("cannot listen at port %d", port), err, "choose another --port: each region takes one")
		}
		list = append(list, l)
	}
	return list, nil
}

// regionNames reads a number of regions, or their names.
func regionNames(s string) ([]string, error) {
	n, err := strconv.Atoi(s)
	if err != nil {
		return strings.Split(s, ","), nil //nolint:nilerr // it is no number: it is names
	}
	if n < 1 || n > len(dynamoRegions) {
		return nil, cli.UsageError(fmt.Sprintf("--regions %d is out of range", n), fmt.Sprintf("use 1 to %d, or names", len(dynamoRegions)))
	}
	return dynamoRegions[:n], nil
}

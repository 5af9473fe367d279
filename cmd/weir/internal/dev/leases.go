package dev

import (
	"context"
	"errors"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/internal/config"

	"golang.org/x/sync/errgroup"
)

// devLeases is the DynamoDB of weir dev, and the users of its leases.
type devLeases struct {
	cfg       config.Leases
	cloud     *dynamotest.Cloud
	listeners []net.Listener
	*demo
}

// startLeases starts the DynamoDB. A region listens on its configured port if the port is free,
// else on any free port.
func startLeases(ctx context.Context, cfg config.Leases, dir string) (*devLeases, error) {
	d := &devLeases{cfg: cfg}
	d.cfg.Regions = slices.Clone(cfg.Regions)
	regions, endpoints := cfg.RegionEndpoints()
	cloudCfg := dynamotest.Config{Regions: regions, Profile: dynamotest.Friendly()}
	if dir != "" {
		cloudCfg.Dir = filepath.Join(dir, "dynamodb")
	}
	var err error
	if d.cloud, err = dynamotest.New(cloudCfg); err != nil {
		return nil, cli.Fail(0, "cannot start DynamoDB", err, "correct leases.regions, or give another --data-dir")
	}
	for i, region := range regions {
		l, err := listenOnPortOf(ctx, endpoints[region])
		if err != nil {
			return nil, cli.Fail(0, "cannot listen for DynamoDB", errors.Join(err, d.close()), "stop other processes to free ports")
		}
		d.listeners = append(d.listeners, l)
		d.cfg.Regions[i] = region + "=http://" + l.Addr().String()
	}
	if d.demo, err = newDemo(ctx, d.cfg); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// listenOnPortOf listens on the port of a URL, or on any free port.
func listenOnPortOf(ctx context.Context, endpoint string) (net.Listener, error) {
	var lc net.ListenConfig
	if u, err := url.Parse(endpoint); err == nil && u.Port() != "" {
		if l, err := lc.Listen(ctx, "tcp", "127.0.0.1:"+u.Port()); err == nil {
			return l, nil
		}
	}
	return lc.Listen(ctx, "tcp", "127.0.0.1:0")
}

func (d *devLeases) close() error {
	if d.demo != nil {
		d.demo.close()
	}
	err := d.cloud.Close()
	for _, l := range d.listeners {
		if e := l.Close(); !errors.Is(e, net.ErrClosed) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// run serves until ctx ends. ready is called once the table has the demo's pool.
func (d *devLeases) run(ctx context.Context, users bool, ready func()) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return d.cloud.Serve(ctx, d.listeners...) })
	g.Go(func() error {
		if err := d.applyAndPrepare(ctx); err != nil {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // a stop is no failure
			}
			return connect.LeaseFailure("cannot prepare the lease table", err)
		}
		ready()
		if users {
			d.use(ctx)
		}
		return nil
	})
	return g.Wait()
}

func (d *devLeases) applyAndPrepare(ctx context.Context) error {
	if err := d.table.Apply(ctx, nil); err != nil {
		return err
	}
	return d.prepare(ctx)
}

// regionsFlag returns the flag --regions for other commands, "" if they do not need it.
func (d *devLeases) regionsFlag(original []string) string {
	if slices.Equal(d.cfg.Regions, original) {
		return ""
	}
	return " --regions " + strings.Join(d.cfg.Regions, ",")
}

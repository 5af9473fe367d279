package dev

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
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
	moved     []string // regions whose configured port is not free, each with its new port
	*demo
}

// startLeases starts the DynamoDB. Regions listen on consecutive ports from port on. If port is 0,
// a region listens on its configured port if that is free, else on any free port.
func startLeases(ctx context.Context, cfg config.Leases, port int, dir string) (*devLeases, error) {
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
		l, err := d.listen(ctx, region, endpoints[region], port)
		if err != nil {
			return nil, cli.Fail(0, "cannot listen for DynamoDB in "+region, errors.Join(err, d.close()),
				"give another --dynamodb-port: each region needs a port; or stop the process that uses the port")
		}
		if port > 0 {
			port++
		}
		d.listeners = append(d.listeners, l)
		d.cfg.Regions[i] = region + "=http://" + l.Addr().String()
	}
	if d.demo, err = newDemo(ctx, d.cfg); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// listen listens on port. If port is 0, it listens on the port of the endpoint, or on any free port
// if the endpoint has none or its port is not free.
func (d *devLeases) listen(ctx context.Context, region, endpoint string, port int) (net.Listener, error) {
	var lc net.ListenConfig
	if port > 0 {
		return lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	configured := ""
	if u, err := url.Parse(endpoint); err == nil && u.Port() != "" {
		configured = u.Port()
		if l, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", configured)); err == nil {
			return l, nil
		}
	}
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err == nil && configured != "" {
		d.moved = append(d.moved, fmt.Sprintf("port %s is not free, so that %s is at %s", configured, region, l.Addr()))
	}
	return l, err
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
				return nil //nolint:nilerr // a stop is not a failure
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

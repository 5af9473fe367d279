package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/agent"
	"github.com/weirhq/weir/agent/admin"
	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/internal/leasedemo"
)

// What weir dev has in its table.
const (
	demoName      = "demo" // of the client, and of its pool
	demoResources = 100    // of a region
	demoRate      = 1.8    // new keys a second there, on average
	demoSwing     = 0.7    // how far that goes up and down
	demoLength    = 30 * time.Second

	demoLongest    = 10 * time.Minute
	demoQuarantine = 2 * time.Second
	demoCycle      = 10 * time.Minute // of a day in fast motion; the regions' peaks are a third of it apart
)

// devLeases is the part of weir dev that is about leases: a DynamoDB of several regions, and users of them.
type devLeases struct {
	cfg       config.Leases
	cloud     *dynamotest.Cloud
	listeners []net.Listener
	table     *leases
	agents    []*agent.Agent
	users     []*leasedemo.Crowd
}

// startLeases starts the DynamoDB. A region listens where the configuration has it, if that port is free.
func startLeases(ctx context.Context, cfg config.Leases, dir string) (*devLeases, error) {
	d := &devLeases{cfg: cfg}
	d.cfg.Regions = slices.Clone(cfg.Regions)
	regions, endpoints := cfg.Places()
	cloudCfg := dynamotest.Config{Regions: regions, Profile: dynamotest.Friendly()}
	if dir != "" {
		cloudCfg.Dir = filepath.Join(dir, "dynamodb")
	}
	var err error
	if d.cloud, err = dynamotest.New(cloudCfg); err != nil {
		return nil, fail(0, "cannot start DynamoDB", err, "correct leases.regions, or choose another --data-dir")
	}
	for i, region := range regions {
		l, err := listenNear(ctx, endpoints[region])
		if err != nil {
			return nil, fail(0, "cannot listen for DynamoDB", errors.Join(err, d.close()), "free a port")
		}
		d.listeners = append(d.listeners, l)
		d.cfg.Regions[i] = region + "=http://" + l.Addr().String()
	}
	if d.table, err = connectLeases(ctx, d.cfg); err != nil {
		return nil, errors.Join(err, d.close())
	}
	for i, region := range regions {
		a, err := d.table.agent(region)
		if err != nil {
			return nil, errors.Join(err, d.close())
		}
		d.agents = append(d.agents, a)
		d.users = append(d.users, leasedemo.New(a, leasedemo.Config{
			Client: demoName, Pool: demoName, Prefix: region + "-user-", Rate: demoRate, Length: demoLength,
			Swing: demoSwing, Cycle: demoCycle, Peak: float64(i) / float64(len(regions)),
		}))
	}
	return d, nil
}

// regions are the names.
func (d *devLeases) regions() []string {
	names, _ := d.cfg.Places()
	return names
}

// listenNear listens at the port of a URL on this machine, or at any.
func listenNear(ctx context.Context, endpoint string) (net.Listener, error) {
	var lc net.ListenConfig
	if u, err := url.Parse(endpoint); err == nil && u.Port() != "" {
		if l, err := lc.Listen(ctx, "tcp", "127.0.0.1:"+u.Port()); err == nil {
			return l, nil
		}
	}
	return lc.Listen(ctx, "tcp", "127.0.0.1:0")
}

func (d *devLeases) close() error {
	for _, a := range d.agents {
		a.Close()
	}
	err := d.cloud.Close()
	for _, l := range d.listeners {
		if e := l.Close(); !errors.Is(e, net.ErrClosed) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// run serves until ctx ends. ready is called once the table has what the demo needs.
func (d *devLeases) run(ctx context.Context, users bool, ready func()) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return d.cloud.Serve(ctx, d.listeners...) })
	g.Go(func() error {
		if err := d.prepare(ctx); err != nil {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // it was asked to stop
			}
			return leaseFailure("cannot prepare the table of leases", err)
		}
		ready()
		if users {
			d.use(ctx)
		}
		return nil
	})
	return g.Wait()
}

// prepare makes what is not there yet.
func (d *devLeases) prepare(ctx context.Context) error {
	if err := d.table.Apply(ctx, nil); err != nil {
		return err
	}
	made := func(err error) error {
		if errors.Is(err, admin.ErrExists) {
			return nil
		}
		return err
	}
	regions := d.regions()
	var err error
	for _, r := range regions {
		_, e := admin.Create(ctx, d.table.Admin, admin.Region{Region: r})
		err = errors.Join(err, made(e))
	}
	_, e := admin.Create(ctx, d.table.Admin, admin.Client{Client: demoName, Stored: admin.Stored{Description: "made by weir dev"}})
	err = errors.Join(err, made(e))
	_, e = admin.Create(ctx, d.table.Admin, admin.Pool{
		Client: demoName, Pool: demoName, LongestLease: admin.Duration(demoLongest), Quarantine: admin.Duration(demoQuarantine), Stored: admin.Stored{Description: "made by weir dev"},
	})
	if err = errors.Join(err, made(e)); err != nil {
		return err
	}
	for _, r := range regions {
		var names strings.Builder
		for i := range demoResources {
			fmt.Fprintf(&names, "%s-%03d\n", r, i)
		}
		_, err := d.table.ImportResources(ctx, strings.NewReader(names.String()), admin.ResourceImport{Client: demoName, Pool: demoName, Region: r})
		if err != nil {
			return err
		}
	}
	return nil
}

// use takes and gives back leases in every region, until ctx ends.
func (d *devLeases) use(ctx context.Context) {
	var g sync.WaitGroup
	for _, u := range d.users {
		g.Go(func() { u.Run(ctx) })
	}
	g.Wait()
}

// held is how many leases the users have, and what they did.
func (d *devLeases) held() string {
	var held, got, renewed, released, refused int64
	for _, u := range d.users {
		held, got, renewed = held+u.Held.Load(), got+u.Got.Load(), renewed+u.Renewed.Load()
		released, refused = released+u.Released.Load(), refused+u.Refused.Load()+u.Failed.Load()
	}
	return fmt.Sprintf("leases %d held, %d got, %d renewed, %d released, %d refused", held, got, renewed, released, refused)
}

// regionsFlag is what other commands need to be told, if it is not what they take anyway.
func (d *devLeases) regionsFlag(original []string) string {
	if slices.Equal(d.cfg.Regions, original) {
		return ""
	}
	return " --regions " + strings.Join(d.cfg.Regions, ",")
}

package dev

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/weirhq/weir/agent"
	"github.com/weirhq/weir/agent/leaseload"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/lease/admin"
)

// The demo's settings.
const (
	demoName      = "demo" // name of the client and of its pool
	demoResources = 100    // in each region
	demoRate      = 1.8    // mean of new keys per second in a region
	demoSwing     = 0.7    // amplitude of the rate, as a share
	demoLength    = 30 * time.Second

	demoLongest    = 10 * time.Minute
	demoQuarantine = 2 * time.Second
	demoCycle      = 10 * time.Minute // period of the rate; the peaks of the regions are a third of it apart
)

// demo is a pool with resources and simulated users in every region, of weir dev and weir load.
type demo struct {
	table  *node.LeaseTable
	agents []*agent.Agent
	users  []*leaseload.Users
}

// newDemo connects to the table. prepare creates the pool.
func newDemo(ctx context.Context, cfg config.Leases) (*demo, error) {
	table, err := connect.OpenLeaseTable(ctx, cfg)
	if err != nil {
		return nil, err
	}
	d := &demo{table: table}
	regions := d.regions()
	for i, region := range regions {
		a, err := table.Agent(region)
		if err != nil {
			d.close()
			return nil, connect.LeaseFailure("cannot connect to region "+region, err)
		}
		d.agents = append(d.agents, a)
		d.users = append(d.users, leaseload.New(a, leaseload.Config{
			Client: demoName, Pool: demoName, Prefix: region + "-user-", Rate: demoRate, Length: demoLength,
			Swing: demoSwing, Cycle: demoCycle, Peak: float64(i) / float64(len(regions)),
		}))
	}
	return d, nil
}

func (d *demo) close() {
	for _, a := range d.agents {
		a.Close()
	}
}

// regions returns the names of the regions.
func (d *demo) regions() []string {
	names, _ := d.table.Config.RegionEndpoints()
	return names
}

// prepare creates regions, client, pool and resources, unless they exist.
func (d *demo) prepare(ctx context.Context) error {
	ignoreExisting := func(err error) error {
		if errors.Is(err, admin.ErrExists) {
			return nil
		}
		return err
	}
	regions := d.regions()
	var err error
	for _, r := range regions {
		_, e := admin.Create(ctx, d.table.Admin, admin.Region{Region: r})
		err = errors.Join(err, ignoreExisting(e))
	}
	by := admin.StoredRow{Description: "created for the demo"}
	_, e := admin.Create(ctx, d.table.Admin, admin.Client{Client: demoName, StoredRow: by})
	err = errors.Join(err, ignoreExisting(e))
	_, e = admin.Create(ctx, d.table.Admin, admin.Pool{
		Client: demoName, Pool: demoName, LongestLease: admin.Duration(demoLongest), Quarantine: admin.Duration(demoQuarantine),
		StoredRow: by,
	})
	if err = errors.Join(err, ignoreExisting(e)); err != nil {
		return err
	}
	for _, r := range regions {
		var names strings.Builder
		for i := range demoResources {
			fmt.Fprintf(&names, "%s-%03d\n", r, i)
		}
		_, err := d.table.ImportResources(ctx, strings.NewReader(names.String()),
			admin.ResourceImport{Client: demoName, Pool: demoName, Region: r})
		if err != nil {
			return err
		}
	}
	return nil
}

// use runs the users of every region until ctx ends.
func (d *demo) use(ctx context.Context) {
	var g sync.WaitGroup
	for _, u := range d.users {
		g.Go(func() { u.Run(ctx) })
	}
	g.Wait()
}

// leaseCounts is the leases and the calls of the users.
type leaseCounts struct {
	held, got, renewed, released, refused int64
}

func (d *demo) counts() (c leaseCounts) {
	for _, u := range d.users {
		c.held, c.got, c.renewed = c.held+u.Held.Load(), c.got+u.Got.Load(), c.renewed+u.Renewed.Load()
		c.released, c.refused = c.released+u.Released.Load(), c.refused+u.Refused.Load()+u.Failed.Load()
	}
	return c
}

// String describes the counts.
func (c leaseCounts) String() string {
	return fmt.Sprintf("leases %d held, %d got, %d renewed, %d released, %d refused", c.held, c.got, c.renewed, c.released, c.refused)
}

package dev

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/weirhq/weir/agent"
	"github.com/weirhq/weir/agent/admin"
	"github.com/weirhq/weir/agent/leaseload"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
)

// What the demo has in its table.
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

// demo is a pool with resources in every region and users of them, as weir dev and weir load have it.
type demo struct {
	table  *node.LeaseTable
	agents []*agent.Agent
	users  []*leaseload.Users
}

// newDemo connects to the table. It makes nothing there before prepare.
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
			return nil, connect.LeaseFailure("cannot lease in "+region, err)
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

// regions are the names.
func (d *demo) regions() []string {
	names, _ := d.table.Config.RegionEndpoints()
	return names
}

// prepare makes what is not there yet: regions, client, pool, resources.
func (d *demo) prepare(ctx context.Context) error {
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
	by := admin.Stored{Description: "made for a demo"}
	_, e := admin.Create(ctx, d.table.Admin, admin.Client{Client: demoName, Stored: by})
	err = errors.Join(err, made(e))
	_, e = admin.Create(ctx, d.table.Admin, admin.Pool{
		Client: demoName, Pool: demoName, LongestLease: admin.Duration(demoLongest), Quarantine: admin.Duration(demoQuarantine), Stored: by,
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
func (d *demo) use(ctx context.Context) {
	var g sync.WaitGroup
	for _, u := range d.users {
		g.Go(func() { u.Run(ctx) })
	}
	g.Wait()
}

// held is how many leases the users have, and what they did.
func (d *demo) held() string {
	var held, got, renewed, released, refused int64
	for _, u := range d.users {
		held, got, renewed = held+u.Held.Load(), got+u.Got.Load(), renewed+u.Renewed.Load()
		released, refused = released+u.Released.Load(), refused+u.Refused.Load()+u.Failed.Load()
	}
	return fmt.Sprintf("leases %d held, %d got, %d renewed, %d released, %d refused", held, got, renewed, released, refused)
}

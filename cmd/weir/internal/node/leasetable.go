package node

import (
	"context"

	"github.com/weirhq/weir/agent"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/lease/admin"
	"github.com/weirhq/weir/lease/table"
)

// LeaseTable is a connection to the lease table in all regions.
type LeaseTable struct {
	*admin.Admin
	Config     config.Leases
	connection *table.Connection
}

// ConnectLeaseTable makes the clients of the lease table. It sends no request. Its errors are those
// of packages agent and admin.
func ConnectLeaseTable(ctx context.Context, cfg config.Leases) (*LeaseTable, error) {
	regions, endpoints := cfg.RegionEndpoints()
	connection, err := table.Connect(ctx, endpoints)
	if err != nil {
		return nil, err
	}
	l := &LeaseTable{Config: cfg, connection: connection}
	l.Admin, err = admin.New(admin.Config{
		Table: cfg.Table, Regions: regions, Home: cfg.HomeRegion(), Client: connection.Client, Streams: connection.Streams,
		Skew: cfg.Skew, Timeout: cfg.Timeout,
	})
	return l, err
}

// LeaseSettings returns the settings that all users of the lease table need in common.
func LeaseSettings(c *config.Leases) *weirpb.LeaseSettings {
	return &weirpb.LeaseSettings{
		Table: c.Table, Regions: c.Regions, Home: c.HomeRegion(), Skew: c.Skew.String(), Partitions: int32(c.Partitions),
	}
}

// Agent returns an agent of region.
func (l *LeaseTable) Agent(region string) (*agent.Agent, error) {
	return agent.New(agent.Config{
		Region: region, Table: l.Config.Table, Client: l.connection.Client, Skew: l.Config.Skew, Timeout: l.Config.Timeout,
	})
}

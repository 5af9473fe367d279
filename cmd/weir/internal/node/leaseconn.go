package node

import (
	"context"

	"github.com/weirhq/weir/agent"
	"github.com/weirhq/weir/agent/admin"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/lease/table"
)

// LeaseTable is the way to the table of leases.
type LeaseTable struct {
	*admin.Admin
	Config     config.Leases
	connection *table.Connection
}

// ConnectLeaseTable makes the clients of the table of leases. It sends no request.
func ConnectLeaseTable(ctx context.Context, cfg config.Leases) (*LeaseTable, error) {
	regions, endpoints := cfg.RegionEndpoints()
	connection, err := table.Connect(ctx, endpoints)
	if err != nil {
		return nil, err
	}
	l := &LeaseTable{Config: cfg, connection: connection}
	l.Admin, err = admin.New(admin.Config{
		Table: cfg.Table, Regions: regions, Home: cfg.HomeRegion(), Client: connection.Client, Streams: connection.Streams, Skew: cfg.Skew, Timeout: cfg.Timeout,
	})
	return l, err
}

// Agent is one of a region.
func (l *LeaseTable) Agent(region string) (*agent.Agent, error) {
	return agent.New(agent.Config{Region: region, Table: l.Config.Table, Client: l.connection.Client, Skew: l.Config.Skew, Timeout: l.Config.Timeout})
}

// Package lease has the commands about leases: weir lease, client, pool, resource, region, table,
// balancer, bridge, dedup and status.
package lease

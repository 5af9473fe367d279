// Package lease has the commands about leases and their table: weir lease, client, pool, resource,
// region, table, balancer, bridge, dedup and status.
package lease

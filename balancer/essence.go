package balancer

import (
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/balancer/balancerpb"
)

// Essence is what of a value the inputs alone decide: resources, settings, heartbeats, how many were refused. What
// depends on the time of day as well, as when a step of a series was closed and what was moved, is not.
func Essence(table byte, _, value []byte) []byte {
	switch table {
	case TableResources, TableFree, TableRegions:
		return value
	case TablePools:
		m := &balancerpb.Pool{}
		if proto.Unmarshal(value, m) != nil {
			return value
		}
		return append([]byte{}, m.Settings...)
	case TableSites:
		m := &balancerpb.Site{}
		if proto.Unmarshal(value, m) != nil {
			return value
		}
		out, err := proto.Marshal(&balancerpb.Site{Refused: m.Refused, Minute: m.Minute, RefusedNow: m.RefusedNow, RefusedBefore: m.RefusedBefore})
		if err != nil {
			return value
		}
		return append([]byte{}, out...)
	default:
		return nil
	}
}

package balancer

import (
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/balancer/balancerpb"
	"github.com/weirhq/weir/events/eventspb"
)

// Canonical is what of a value the inputs alone decide: resources, settings, heartbeats. What depends on the time of day as well, as
// when a step of a series was closed and what was moved, is not; nor what is left of a pool that was deleted, as it is forgotten
// some time later: gone resources, how many keys were refused.
func Canonical(table byte, _, value []byte) []byte {
	switch table {
	case TableFree, TableRegions:
		return value
	case TableResources:
		if r, err := decodeRow(value, nil); err == nil && r.gone {
			return nil
		}
		return value
	case TablePools:
		m := &balancerpb.Pool{}
		if proto.Unmarshal(value, m) != nil {
			return value
		}
		settings := &eventspb.LeasePool{}
		if proto.Unmarshal(m.Settings, settings) != nil || !unset(settings) {
			return append([]byte{}, m.Settings...)
		}
		return nil
	default:
		return nil
	}
}

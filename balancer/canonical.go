package balancer

import (
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/balancer/balancerpb"
	"github.com/weirhq/weir/events/eventspb"
)

// Canonical returns the part of a value that the inputs alone determine: resources, settings,
// heartbeats. It excludes what depends on the time of day: the steps of a series, and transfers. It
// also excludes the remains of a deleted pool, which is forgotten some time later: moved resources
// and counts of refused keys. See stream.Processor.
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

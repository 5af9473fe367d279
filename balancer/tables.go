package balancer

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/balancer/balancerpb"
	"github.com/weirhq/weir/balancer/forecast"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

// tables describes the tables to people.
func tables() []stream.TableInfo {
	return []stream.TableInfo{
		{Number: TableResources, Name: "resources", Value: resourceJSON},
		{Number: TableFree, Name: "free", Key: freeKeyJSON},
		{Number: TablePools, Name: "pools", Value: state.ToJSON(state.Proto[*balancerpb.Pool]{})},
		{Number: TablePoolRegions, Name: "pool_regions", Value: state.ToJSON(state.Proto[*balancerpb.PoolRegion]{})},
		{Number: TableProfiles, Name: "profiles", Value: profileJSON},
		{Number: TableTransfers, Name: "transfers", Value: state.ToJSON(state.Proto[*balancerpb.Transfer]{})},
		{Number: TableRegions, Name: "regions", Value: state.ToJSON(state.Proto[*balancerpb.Region]{})},
		{Number: TableTask, Name: "task", Value: state.ToJSON(state.Proto[*balancerpb.Task]{})},
	}
}

// resourceJSON shows a value of TableResources.
func resourceJSON(value []byte) ([]byte, error) {
	r, err := decodeRow(value, nil)
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		Version   int64  `json:"version"`
		Owner     string `json:"owner"`
		Leased    bool   `json:"leased"`
		Expires   int64  `json:"expires_ms"`
		Available int64  `json:"available_ms"`
		Gone      bool   `json:"gone"`
	}{r.version, r.owner, r.leased(), r.expires, r.available, r.gone})
}

// freeKeyJSON shows a key of TableFree, see freeKey.
func freeKeyJSON(key []byte) ([]byte, error) {
	names := bytes.SplitN(key, []byte{0}, 4)
	if len(names) < 4 || len(names[3]) < 8 {
		return nil, fmt.Errorf("key %q is not client, pool, region, time and resource", key)
	}
	return json.Marshal(struct {
		Client    string `json:"client"`
		Pool      string `json:"pool"`
		Region    string `json:"region"`
		Available int64  `json:"available_ms"`
		Resource  string `json:"resource"`
	}{string(names[0]), string(names[1]), string(names[2]), int64(binary.BigEndian.Uint64(names[3])), string(names[3][8:])})
}

// profileJSON shows a value of TableProfiles: new leases per second by hour, and from how many days
// or weeks each rate is.
func profileJSON(value []byte) ([]byte, error) {
	p, err := forecast.DecodeProfile(value)
	if err != nil {
		return nil, err
	}
	return json.Marshal(p)
}

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

package connect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
)

// askServer returns the settings of the server that --server or WEIR_SERVER names, and its address.
func askServer(ctx context.Context, a *cli.App) (server string, settings *weirpb.GetClusterResponse, err error) {
	cfg, err := a.LoadConfigOf(config.Options{Without: "leases"}) // which may need the answer to be valid
	if err != nil {
		return "", nil, err
	}
	client, server, err := clientOf(a, cfg)
	if err != nil {
		return server, nil, err
	}
	defer client.Close()
	settings, err = client.GetCluster(ctx)
	return server, settings, err
}

// serverConfig returns the configuration with settings of the server in place of those that are not
// set. One that is set and differs is an error. list selects the settings.
func serverConfig(a *cli.App, server string, theirs *weirpb.GetClusterResponse,
	list func(*weirpb.GetClusterResponse) []setting,
) (*config.Config, error) {
	given := map[string]config.Flag{}
	for _, s := range list(theirs) {
		given[s.key] = config.Flag{Name: "server " + server, Value: s.value}
	}
	withoutRing := maps.Clone(given) // a ring is not valid with a datacentre that differs
	delete(withoutRing, dcsKey)
	cfg, err := a.LoadConfigOf(config.Options{Server: withoutRing})
	if err != nil {
		return nil, err
	}
	ours := map[string]setting{}
	for _, s := range list(ownSettings(cfg)) {
		ours[s.key] = s
	}
	var differ []string
	for _, s := range list(theirs) {
		e := entryOf(cfg, s.key)
		if here, there := ours[s.key].compared(), s.compared(); e.Origin != config.OriginDefault && here != there {
			differ = append(differ, fmt.Sprintf("%s is %s (%s), and %s at the server %s", s.key, here, e.Where, there, server))
		}
	}
	if len(differ) > 0 {
		return nil, cli.Fail(cli.ExitConfig, "the settings are not those of the server", errors.New(strings.Join(differ, "; ")),
			"leave these settings out, or correct them; without --server and WEIR_SERVER the configuration alone counts")
	}
	return a.LoadConfigOf(config.Options{Server: given})
}

// ownSettings returns the settings of the configuration as a server returns its own.
func ownSettings(c *config.Config) *weirpb.GetClusterResponse {
	return &weirpb.GetClusterResponse{
		Brokers: c.Kafka.Brokers, Dc: c.DC, Dcs: c.Ring(), Partitions: int32(c.Spend.Partitions), Generation: int32(c.Spend.Generation),
		Leases: node.LeaseSettings(&c.Leases),
	}
}

// setting is a setting that all users of a cluster or of a lease table need in common.
type setting struct{ key, value string }

const (
	regionsKey = "leases.regions"
	dcsKey     = "dcs"
)

// clusterSettings returns the settings by which topics are found: the brokers, those of the spend
// counter, and those of the lease loop, as far as the server has them.
func clusterSettings(c *weirpb.GetClusterResponse) []setting {
	list := []setting{{brokersKey, strings.Join(c.GetBrokers(), ",")}}
	if c.GetPartitions() > 0 {
		list = append(list, setting{"dc", c.GetDc()}, setting{dcsKey, strings.Join(c.GetDcs(), ",")},
			setting{"spend.partitions", strconv.Itoa(int(c.GetPartitions()))},
			setting{"spend.generation", strconv.Itoa(int(c.GetGeneration()))})
	}
	if c.GetLeases() != nil {
		list = append(list, leaseLoopSettings(c)...)
	}
	return list
}

// leaseLoopSettings returns the settings of the lease table and of the topics of leases.
func leaseLoopSettings(c *weirpb.GetClusterResponse) []setting {
	return append(leaseSettings(c), setting{"leases.partitions", strconv.Itoa(int(c.GetLeases().GetPartitions()))})
}

// leaseSettings returns the settings of the lease table.
func leaseSettings(c *weirpb.GetClusterResponse) []setting {
	s := c.GetLeases()
	return []setting{
		{"leases.table", s.GetTable()},
		{regionsKey, strings.Join(s.GetRegions(), ",")},
		{"leases.home", s.GetHome()},
		{"leases.skew", s.GetSkew()},
	}
}

// compared returns the part of the value that must be the same everywhere: addresses of regions and
// of datacentres can differ between machines.
func (s setting) compared() string {
	if s.key != regionsKey && s.key != dcsKey {
		return s.value
	}
	names := strings.Split(s.value, ",")
	for i, item := range names {
		names[i], _, _ = strings.Cut(item, "=")
	}
	return strings.Join(names, ",")
}

func entryOf(cfg *config.Config, key string) config.Entry {
	entries := cfg.Entries()
	return entries[slices.IndexFunc(entries, func(e config.Entry) bool { return e.Key == key })]
}

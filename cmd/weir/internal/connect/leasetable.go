package connect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
)

// LeaseTable connects to the lease table of the configuration. If --server or WEIR_SERVER names a
// server, the table is the server's: settings that are not set are those of the server, and one
// that differs is an error. With settings of two tables a key could be leased in both.
func LeaseTable(ctx context.Context, a *cli.App) (*node.LeaseTable, error) {
	cfg, err := leaseConfig(ctx, a)
	if err != nil {
		return nil, err
	}
	return OpenLeaseTable(ctx, cfg.Leases)
}

func leaseConfig(ctx context.Context, a *cli.App) (*config.Config, error) {
	if !a.NamesServer() {
		return a.LoadConfig()
	}
	server, theirs, err := askLeaseSettings(ctx, a)
	if err != nil || theirs == nil {
		return ownLeaseConfig(a, server, err)
	}
	given := map[string]config.Flag{}
	for _, s := range leaseSettings(theirs) {
		given[s.key] = config.Flag{Name: "server " + server, Value: s.value}
	}
	cfg, err := a.LoadConfigOf(config.Options{Server: given})
	if err != nil {
		return nil, err
	}
	var differ []string
	for i, own := range leaseSettings(node.LeaseSettings(&cfg.Leases)) {
		if here, there := own.compared(), leaseSettings(theirs)[i].compared(); here != there {
			differ = append(differ, fmt.Sprintf("%s is %s (%s), and %s at the server %s", own.key, here, entryOf(cfg, own.key).Where, there, server))
		}
	}
	if len(differ) > 0 {
		return nil, cli.Fail(cli.ExitConfig, "the lease settings are not those of the server", errors.New(strings.Join(differ, "; ")),
			"leave these settings out, or correct them; without --server and WEIR_SERVER the configuration alone counts")
	}
	return cfg, nil
}

// ownLeaseConfig returns the configuration without a server's settings, because the server has no
// lease table, or because asking it failed with err. It must not need the server's.
func ownLeaseConfig(a *cli.App, server string, err error) (*config.Config, error) {
	cfg, loadErr := a.LoadConfig()
	if loadErr != nil {
		return nil, loadErr
	}
	var missing []string
	for _, s := range leaseSettings(node.LeaseSettings(&cfg.Leases)) {
		if entryOf(cfg, s.key).Origin == config.OriginDefault {
			missing = append(missing, s.key)
		}
	}
	switch {
	case err == nil && slices.Contains(missing, regionsKey):
		err = fmt.Errorf("the process at %s has no lease table, or is of an older version", server)
	case err == nil:
		return cfg, nil
	case len(missing) == 0:
		a.Notef("the lease settings are not compared with those of the server: %v", err)
		return cfg, nil
	}
	return nil, cli.Fail(0, "cannot ask the server for the settings of its lease table", err,
		fmt.Sprintf("set %s, or name no server: without --server and WEIR_SERVER the configuration alone counts", strings.Join(missing, ", ")))
}

// askLeaseSettings asks the server for its lease settings, nil if it has no lease table.
func askLeaseSettings(ctx context.Context, a *cli.App) (server string, s *weirpb.LeaseSettings, err error) {
	cfg, err := a.LoadConfigOf(config.Options{Without: "leases"}) // which may need the answer to be valid
	if err != nil {
		return "", nil, err
	}
	client, server, err := clientOf(a, cfg)
	if err != nil {
		return server, nil, err
	}
	defer client.Close()
	cluster, err := client.GetCluster(ctx)
	return server, cluster.GetLeases(), err
}

// leaseSetting is a setting that all users of a lease table need in common.
type leaseSetting struct{ key, value string }

const regionsKey = "leases.regions"

func leaseSettings(s *weirpb.LeaseSettings) []leaseSetting {
	return []leaseSetting{
		{"leases.table", s.GetTable()}, {regionsKey, strings.Join(s.GetRegions(), ",")}, {"leases.home", s.GetHome()}, {"leases.skew", s.GetSkew()},
	}
}

// compared returns the part of the value that must be the same everywhere: the URL of a region can
// differ between machines.
func (s leaseSetting) compared() string {
	if s.key != regionsKey {
		return s.value
	}
	names, _ := (&config.Leases{Regions: strings.Split(s.value, ",")}).RegionEndpoints()
	return strings.Join(names, ",")
}

func entryOf(cfg *config.Config, key string) config.Entry {
	entries := cfg.Entries()
	return entries[slices.IndexFunc(entries, func(e config.Entry) bool { return e.Key == key })]
}

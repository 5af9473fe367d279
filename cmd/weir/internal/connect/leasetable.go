package connect

import (
	"context"
	"fmt"
	"slices"
	"strings"

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
	server, theirs, err := askServer(ctx, a)
	if err != nil || theirs.GetLeases() == nil {
		return ownLeaseConfig(a, server, err)
	}
	return serverConfig(a, server, theirs, leaseLoopSettings)
}

// ownLeaseConfig returns the configuration without a server's settings, because the server has no
// lease table, or because asking it failed with err. It must not need the server's.
func ownLeaseConfig(a *cli.App, server string, err error) (*config.Config, error) {
	cfg, loadErr := a.LoadConfig()
	if loadErr != nil {
		return nil, loadErr
	}
	var missing []string
	for _, s := range leaseSettings(ownSettings(cfg)) {
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
		fmt.Sprintf("set %s, or name no server: without --server and WEIR_SERVER the configuration alone counts",
			strings.Join(missing, ", ")))
}

package ops

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
)

// readyLimit is above what a process may take to answer, see package api.
const readyLimit = 5 * time.Second

// newReadyCmd returns `weir ready`.
func newReadyCmd(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "ready",
		Short: "Asks the weir run on this machine whether it is ready: a health check where there is no curl",
		Long: "Asks the weir run on this machine, at api.ops_listen, whether it is ready: whether each of its partitions is at work. It says why\n" +
			"not, and ends with 75. It is a health check for images that have no curl; others ask /readyz, which needs no token.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.LoadConfig()
			if err != nil {
				return err
			}
			return checkReady(cmd.Context(), a, cfg)
		},
	}
	c.Flags().String("ops-listen", "", "address of health and metrics (default: api.ops_listen)")
	a.Bind(c.Flags(), "ops-listen", "api.ops_listen")
	return c
}

func checkReady(ctx context.Context, a *cli.App, cfg *config.Config) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	url, transport, err := opsEndpoint(cfg)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/readyz", nil)
	if err != nil {
		return cli.Fail(cli.ExitConfig, "cannot ask whether it is ready", err, "correct api.ops_listen")
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		return cli.Fail(cli.ExitUnavailable, "cannot ask whether it is ready", err, "check api.ops_listen, and that `weir run` is up")
	}
	defer func() { _ = res.Body.Close() }()
	var said struct {
		Ready   bool
		Reasons []string
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err = errors.Join(err, json.Unmarshal(body, &said)); err != nil {
		return cli.Fail(cli.ExitUnavailable, "cannot tell whether it is ready", fmt.Errorf("%s answered %s: %w", url, res.Status, err), "check that it is weir's ops listener")
	}
	if !said.Ready {
		return cli.Fail(cli.ExitTempFail, "it is not ready", errors.New(strings.Join(said.Reasons, "\n")), "wait; `weir lag` and its log say more")
	}
	a.Notef("ready")
	return nil
}

// opsEndpoint is the ops listener as this machine reaches it. Its certificate is checked by the name that the other processes use.
func opsEndpoint(cfg *config.Config) (url string, t *http.Transport, err error) {
	x, err := node.NewAccess(cfg)
	if err != nil {
		return "", nil, connect.NodeFailure(err)
	}
	host, port, err := net.SplitHostPort(cfg.API.OpsListen)
	if err != nil {
		return "", nil, cli.Fail(cli.ExitConfig, "cannot ask whether it is ready", err, "correct api.ops_listen")
	}
	t = &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x.Roots}, DisableKeepAlives: true}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if name, _, err := net.SplitHostPort(cfg.API.Advertise); err == nil {
			t.TLSClientConfig.ServerName = name
		}
	}
	scheme := "http://"
	if x.TLS {
		scheme = "https://"
	}
	return scheme + net.JoinHostPort(host, port), t, nil
}

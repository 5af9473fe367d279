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

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
)

// readyTimeout is longer than the time in which /readyz answers, see package api.
const readyTimeout = 5 * time.Second

// newReadyCmd returns `weir ready`.
func newReadyCmd(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "ready",
		Short: "Check whether the process on this machine is ready",
		Long: "Check whether the process on this machine is ready: whether all its partitions are running. If the\n" +
			"process is not ready, it prints the reasons and exits with code 75. A process whose other\n" +
			"partitions are running is ready, and the stopped ones are printed: a restart does not help them.\n\n" +
			"It requests /readyz at api.ops_listen, and is a health check for images without curl.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.LoadConfig()
			if err != nil {
				return err
			}
			return checkReady(cmd.Context(), a, cfg)
		},
	}
	cli.RefuseServer(c, "it asks the process of this machine at api.ops_listen (--ops-listen)")
	c.Flags().String("ops-listen", "", "address of health checks and metrics (default: api.ops_listen)")
	a.Bind(c.Flags(), "ops-listen", "api.ops_listen")
	return c
}

func checkReady(ctx context.Context, a *cli.App, cfg *config.Config) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	url, transport, err := opsEndpoint(cfg)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/readyz", nil)
	if err != nil {
		return cli.Fail(cli.ExitConfig, "cannot check readiness", err, "correct api.ops_listen")
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		return cli.Fail(cli.ExitUnavailable, "no process answers on this machine", err,
			"check api.ops_listen, and that `weir run` is running")
	}
	defer func() { _ = res.Body.Close() }()
	var answer api.Readiness
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err = errors.Join(err, json.Unmarshal(body, &answer)); err != nil {
		return cli.Fail(cli.ExitUnavailable, "cannot check readiness", fmt.Errorf("%s answered %s: %w", url, res.Status, err),
			"check that api.ops_listen is the address of weir")
	}
	if !answer.Ready {
		do := "wait, and see `weir lag` and the log of the process"
		if len(answer.Stopped) > 0 {
			do = "`weir doctor` has what to do about stopped partitions; a restart alone does not help them"
		}
		return cli.Fail(cli.ExitTempFail, "the process is not ready", errors.New(strings.Join(answer.Reasons, "\n")), do)
	}
	a.Notef("ready")
	for _, s := range answer.Waiting {
		a.Notef("%s", s)
	}
	for _, s := range answer.Stopped {
		a.Notef("%s; `weir doctor` has what to do", s)
	}
	return nil
}

// opsEndpoint returns the URL of the ops listener on this machine. The certificate is verified by
// the name that other processes use.
func opsEndpoint(cfg *config.Config) (url string, t *http.Transport, err error) {
	x, err := node.NewAccess(cfg)
	if err != nil {
		return "", nil, connect.NodeFailure(err)
	}
	host, port, err := net.SplitHostPort(cfg.API.OpsListen)
	if err != nil {
		return "", nil, cli.Fail(cli.ExitConfig, "cannot check readiness", err, "correct api.ops_listen")
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

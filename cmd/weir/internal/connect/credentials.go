package connect

import (
	"slices"
	"strings"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
)

// CheckNamedBrokers returns a failure if this machine would send its password in the clear to
// brokers that only a server has named, and nothing proves who the server is. Another process at
// the address of the server could otherwise name a broker of its own and read the password. SASL
// mechanisms other than PLAIN do not send it. cfg is the configuration without the brokers of the
// server.
func CheckNamedBrokers(a *cli.App, cfg *config.Config, brokers []string) error {
	if cfg.Kafka.SASL.Mechanism != "PLAIN" || cfg.Kafka.TLS.Enabled {
		return nil
	}
	foreign := slices.DeleteFunc(slices.Clone(brokers), func(b string) bool { return slices.Contains(cfg.Kafka.Brokers, b) })
	if len(foreign) == 0 && entryOf(cfg, brokersKey).Origin != config.OriginDefault {
		return nil
	}
	x, err := node.NewAccess(cfg)
	if err != nil {
		return NodeFailure(err)
	}
	server, err := a.ServerAddr(cfg)
	if err != nil || x.HTTPS(server) {
		return err
	}
	return &cli.Failure{
		Code: cli.ExitConfig, What: "the password of Kafka is not sent to brokers that a server has named",
		Why: "kafka.sasl.mechanism is PLAIN without kafka.tls.enabled, which shows the password to each broker, and the server " + server +
			" has no certificate: another process at its address could have named " + strings.Join(brokers, ", "),
		Do: "set kafka.tls.enabled or another mechanism, or name the brokers in kafka.brokers, or reach the server by https://",
	}
}

package program

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"strconv"
	"strings"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafkaadmin"
)

// Config configures a Program. Runtime.Kafka and Runtime.Dir must be set. The zero value of
// every other field works.
type Config struct {
	// Runtime configures the runtime of each processor. New sets Metrics, Topics if it is nil,
	// and Endpoint if Listen is set. Each processor keeps its state in the subdirectory of Dir
	// with its name, and has sessions, caches and a ballast file of its own. Workers defaults to
	// the number of CPUs divided by the number of processors, and at least 2.
	Runtime processors.Config
	// Topics describes the topics that Run creates: their partitions, their replicas, their
	// retention, and those that differ from the rest. Existing topics stay as they are. Its
	// MinInsync and that of Runtime default to each other.
	Topics kafkaadmin.TopicOptions
	// Listen and OpsListen are the addresses, host:port, of the API for weir's commands and of
	// /readyz and /metrics. With Listen, OpsListen defaults to a free port of 127.0.0.1. OpsListen
	// alone opens no API. Both default to none: the program serves no HTTP.
	Listen, OpsListen string
	// TLS and Token are those of api.Config: addresses that other hosts reach need both.
	TLS   *tls.Config
	Token string
	// Roots are the certificate authorities of the other processes. Defaults to the system's.
	Roots *x509.CertPool
	// Queries are answered on Listen, see NewQuery. Defaults to none.
	Queries []api.Query
	// Advertise is the address of the API for other processes, host:port. Defaults to the address
	// on which the API listens; it must be set if that is every interface.
	Advertise string
}

// SetFlags adds the flags of Config.Main to a set: -brokers, -dir, -instance, -partitions,
// -replication-factor, -listen and -ops-listen. The flags set fields of c. The values that c has
// are the defaults of the flags; an empty field gets the default of Main.
func (c *Config) SetFlags(set *flag.FlagSet) {
	if len(c.Runtime.Kafka.Brokers) == 0 {
		c.Runtime.Kafka.Brokers = []string{"127.0.0.1:9092"}
	}
	brokers := strings.Join(c.Runtime.Kafka.Brokers, ",")
	set.Func("brokers", "Kafka brokers, host:port, separated by commas (default "+brokers+")", func(list string) error {
		c.Runtime.Kafka.Brokers = nil
		for broker := range strings.SplitSeq(list, ",") {
			c.Runtime.Kafka.Brokers = append(c.Runtime.Kafka.Brokers, strings.TrimSpace(broker))
		}
		return nil
	})
	set.StringVar(&c.Runtime.Dir, "dir", cmp.Or(c.Runtime.Dir, "data"), "directory of the state; one process per directory")
	set.StringVar(&c.Runtime.Instance, "instance", c.Runtime.Instance,
		"name of this process among those of the application (default: the host name)")
	set.Func("partitions", fmt.Sprintf("partitions of topics that fit no existing topic (default %d)", cmp.Or(c.Topics.Partitions, 12)),
		func(s string) error {
			n, err := strconv.ParseInt(s, 10, 32)
			if err != nil || n < 1 {
				return errors.New("use a whole number of at least 1")
			}
			c.Topics.Partitions = int32(n)
			return nil
		})
	set.IntVar(&c.Topics.ReplicationFactor, "replication-factor", c.Topics.ReplicationFactor,
		"replicas of each partition of new topics; 0: 3, or the number of brokers")
	set.StringVar(&c.Listen, "listen", cmp.Or(c.Listen, freePort),
		"address of the API for weir's commands; port 0: any free port, which the log has; empty: no API")
	set.StringVar(&c.OpsListen, "ops-listen", cmp.Or(c.OpsListen, freePort), "address of /readyz and /metrics")
}

// setDefaults sets the fields that have defaults, for a number of processors.
func (c *Config) setDefaults(list int) {
	c.Runtime.Workers = cmp.Or(c.Runtime.Workers, max(2, runtime.GOMAXPROCS(0)/max(1, list)))
	c.Topics.MinInsync = cmp.Or(c.Topics.MinInsync, c.Runtime.MinInsync)
	c.Runtime.MinInsync = c.Topics.MinInsync
	if c.Listen != "" {
		c.OpsListen = cmp.Or(c.OpsListen, freePort)
	}
}

const freePort = "127.0.0.1:0"

// checkAddresses returns ErrConfig for addresses at which other processes could not reach the API.
func (c *Config) checkAddresses() error {
	switch {
	case len(c.Queries) > 0 && c.Listen == "":
		return fmt.Errorf("%w: Queries are answered by the API, and Listen is empty: set Listen", processors.ErrConfig)
	case c.Listen != "" && c.Runtime.Endpoint != "":
		return fmt.Errorf("%w: Runtime.Endpoint is %q, and other processes get the address of the API in its place: "+
			"leave Endpoint empty and serve what it serves by Queries, or leave Listen empty", processors.ErrConfig, c.Runtime.Endpoint)
	}
	if c.Advertise != "" {
		host, port, err := net.SplitHostPort(c.Advertise)
		switch {
		case c.Listen == "":
			return fmt.Errorf("%w: Advertise %q is the address of an API, and Listen is empty: set Listen, or remove Advertise",
				processors.ErrConfig, c.Advertise)
		case err != nil || port == "" || everyInterface(host):
			return fmt.Errorf("%w: Advertise %q is not host:port of one host: use a name or an address of this machine, with the port",
				processors.ErrConfig, c.Advertise)
		}
		return nil
	}
	if host, _, err := net.SplitHostPort(c.Listen); err == nil && everyInterface(host) {
		return fmt.Errorf(
			"%w: Listen %q is every interface, which is not an address that other processes can connect to: set Advertise to a name or an address of this machine, with the port", processors.ErrConfig, c.Listen)
	}
	return nil
}

func everyInterface(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "" || err == nil && addr.IsUnspecified()
}

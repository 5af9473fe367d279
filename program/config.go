package program

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"runtime"
	"strconv"
	"strings"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafkaadmin"
)

// Config configures a Program. Processors.Kafka and Processors.Dir must be set. The zero value of
// every other field works.
type Config struct {
	// Processors configures the runtime of each processor. New sets Metrics, Topics if it is nil,
	// and Endpoint if the API is served. Each processor keeps its state in the subdirectory of Dir
	// with its name, and has sessions, caches and a ballast file of its own. Workers defaults to
	// the number of CPUs divided by the number of processors, and at least 2.
	Processors processors.Config
	// Topics describes the topics that Run creates: their partitions, their replicas, their
	// retention, and those that differ from the rest. Existing topics stay as they are. Its
	// MinInsync and that of Processors default to each other.
	Topics kafkaadmin.TopicOptions
	// Listen and OpsListen are the addresses, host:port, of the API for weir's commands and of
	// /readyz and /metrics. If one of them is set, the other one defaults to a free port of
	// 127.0.0.1. Both default to none: the program serves no HTTP.
	Listen, OpsListen string
	// TLS and Token are those of api.Config: addresses that other hosts reach need both.
	TLS   *tls.Config
	Token string
	// Roots are the certificate authorities of the other processes. Defaults to the system's.
	Roots *x509.CertPool
	// Advertise is the address of the API for other processes, host:port. Defaults to the address
	// on which the API listens.
	Advertise string
}

// SetFlags adds the flags of Main to a set: -brokers, -dir, -instance, -partitions,
// -replication-factor, -listen and -ops-listen. The flags set fields of c, and a flag that is not given has a default.
func (c *Config) SetFlags(set *flag.FlagSet) {
	c.Processors.Kafka.Brokers = []string{"127.0.0.1:9092"}
	set.Func("brokers", "Kafka brokers, host:port, separated by commas (default 127.0.0.1:9092)", func(list string) error {
		c.Processors.Kafka.Brokers = strings.Split(list, ",")
		return nil
	})
	set.StringVar(&c.Processors.Dir, "dir", "data", "directory of the state; one process per directory")
	set.StringVar(&c.Processors.Instance, "instance", "", "name of this process among those of the application (default: the host name)")
	set.Func("partitions", "partitions of topics that fit no existing topic (default 12)", func(s string) error {
		n, err := strconv.ParseInt(s, 10, 32)
		if err != nil || n < 1 {
			return errors.New("use a whole number of at least 1")
		}
		c.Topics.Partitions = int32(n)
		return nil
	})
	set.IntVar(&c.Topics.ReplicationFactor, "replication-factor", 0, "replicas of each partition of new topics (default 3, or the number of brokers)")
	set.StringVar(&c.Listen, "listen", "127.0.0.1:0", "address of the API for weir's commands; port 0: any free port, which the log has")
	set.StringVar(&c.OpsListen, "ops-listen", "127.0.0.1:0", "address of /readyz and /metrics")
}

// setDefaults sets the fields that have defaults, for a number of processors.
func (c *Config) setDefaults(list int) {
	c.Processors.Workers = cmp.Or(c.Processors.Workers, max(2, runtime.GOMAXPROCS(0)/max(1, list)))
	c.Topics.MinInsync = cmp.Or(c.Topics.MinInsync, c.Processors.MinInsync)
	c.Processors.MinInsync = c.Topics.MinInsync
	if c.serves() {
		c.Listen, c.OpsListen = cmp.Or(c.Listen, freePort), cmp.Or(c.OpsListen, freePort)
	}
}

const freePort = "127.0.0.1:0"

// serves reports whether the program serves HTTP.
func (c *Config) serves() bool { return c.Listen != "" || c.OpsListen != "" }

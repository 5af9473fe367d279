package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/testcontainers/testcontainers-go"
	tcnetwork "github.com/testcontainers/testcontainers-go/network"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/internal/testlimit"
)

const image = "apache/kafka:4.3.1"

// restartable runs the image's start script so that the container can be started again: it
// continues if the storage is already formatted.
const restartable = `sed 's/^set -e$/set +e/' /etc/kafka/docker/run >/tmp/run && exec /bin/bash /tmp/run`

// broker is a container with a broker and a controller. Its ports on the host are chosen before it
// starts, so that the advertised addresses stay the same over restarts.
type broker struct {
	addr      string // listener PLAINTEXT
	tls       string // listener TLS: a client needs a certificate
	password  string // listener PASSWORD: TLS, and SCRAM-SHA-512
	id        string
	container testcontainers.Container // nil for the broker of TestMain
}

// startBrokers starts n clusters of one node each. After an error it returns those that run.
func startBrokers(ctx context.Context, n int) (list []*broker, err error) {
	started, errs := make([]*broker, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { started[i], errs[i] = startBroker(ctx) })
	}
	wg.Wait()
	return slices.DeleteFunc(started, func(b *broker) bool { return b == nil }), errors.Join(errs...)
}

// line returns the broker as a line of envShared.
func (b *broker) line() string { return strings.Join([]string{b.addr, b.tls, b.password, b.id}, " ") }

// takeBroker returns a broker of TestMain that no other test has, until the end of the test. There
// are as many as tests that run at a time. Parallel subtests would count as tests, too.
func takeBroker(t *testing.T) *broker {
	t.Helper()
	for i, line := range strings.Split(os.Getenv(envShared), "\n") {
		mark := filepath.Join(os.Getenv(envCerts), fmt.Sprintf("broker%d.taken", i))
		err := os.Mkdir(mark, 0o700)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.Remove(mark); err != nil {
				t.Error(err)
			}
		})
		f := strings.Fields(line)
		return &broker{addr: f[0], tls: f[1], password: f[2], id: f[3]}
	}
	t.Fatal("other tests have every broker: does a test have two, or parallel subtests?")
	return nil
}

// startBroker starts a cluster of one node.
func startBroker(ctx context.Context) (*broker, error) {
	b, err := launch(ctx, map[string]string{
		"KAFKA_NODE_ID":                  "1",
		"KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9093",
		"KAFKA_HEAP_OPTS":                "-Xmx640m",
	}, "localhost:19092")
	if err != nil {
		return nil, err
	}
	if err := testlimit.Poll(ctx, func(ctx context.Context) error { return serves(ctx, []string{b.addr}, 1) }); err != nil {
		b.terminate()
		return nil, fmt.Errorf("the broker does not answer: %w", err)
	}
	return b, nil
}

// launch starts a container of image with env in addition to sharedSettings. Its certificates come
// from the directory that envCerts names. Brokers need an internal address even alone: with
// transactions v2 a broker connects to the transaction coordinator, which may be itself, to add a
// partition, and it cannot reach the port of the host from inside the container.
func launch(ctx context.Context, env map[string]string, internal string, more ...testcontainers.ContainerCustomizer) (*broker, error) {
	for try := 0; ; try++ { // another program may take a port before the engine does
		b := &broker{}
		settings, ports := sharedSettings(), network.PortMap{}
		maps.Copy(settings, env)
		settings["KAFKA_ADVERTISED_LISTENERS"] = "INTERNAL://" + internal
		for addr, l := range map[*string]struct{ name, port string }{
			&b.addr: {"PLAINTEXT", "9092/tcp"}, &b.tls: {"TLS", "9094/tcp"}, &b.password: {"PASSWORD", "9095/tcp"},
		} {
			port, err := freePort()
			if err != nil {
				return nil, err
			}
			*addr = net.JoinHostPort(dockerHost(), strconv.Itoa(port))
			ports[network.MustParsePort(l.port)] = []network.PortBinding{{HostPort: strconv.Itoa(port)}}
			settings["KAFKA_ADVERTISED_LISTENERS"] += "," + l.name + "://" + *addr
		}
		opts := append([]testcontainers.ContainerCustomizer{
			testcontainers.WithEnv(settings), testcontainers.WithExposedPorts("9092/tcp", "9094/tcp", "9095/tcp"),
			testcontainers.WithFiles(brokerFiles()...), testcontainers.WithCmd("/bin/bash", "-c", restartable),
			testcontainers.WithHostConfigModifier(func(h *container.HostConfig) { h.PortBindings = ports }),
		}, more...)
		c, err := testcontainers.Run(ctx, image, opts...)
		if err == nil {
			b.container, b.id = c, c.GetContainerID()
			return b, nil
		}
		if c != nil {
			err = errors.Join(err, testcontainers.TerminateContainer(c))
		}
		taken := strings.Contains(err.Error(), "port is already allocated") || strings.Contains(err.Error(), "address already in use")
		if try == 3 || !taken {
			return nil, fmt.Errorf("start %s: %w", image, err)
		}
	}
}

// brokerFiles returns the files that a broker needs in its container.
func brokerFiles() []testcontainers.ContainerFile {
	var files []testcontainers.ContainerFile
	for _, name := range []string{caFile, brokerFile, expiredFile} {
		files = append(files, testcontainers.ContainerFile{HostFilePath: filepath.Join(os.Getenv(envCerts), name), ContainerFilePath: "/tmp/" + name, FileMode: 0o644})
	}
	return files
}

// sharedSettings returns the settings of all brokers.
func sharedSettings() map[string]string {
	return map[string]string{
		"CLUSTER_ID":                                     "5L6g3nShT-eMCtK--X86sw",
		"KAFKA_OPTS":                                     "-XX:TieredStopAtLevel=1", // the second compiler takes more time than it saves in a minute
		"KAFKA_PROCESS_ROLES":                            "broker,controller",
		"KAFKA_CONTROLLER_LISTENER_NAMES":                "CONTROLLER",
		"KAFKA_LISTENER_SECURITY_PROTOCOL_MAP":           "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT,TLS:SSL,PASSWORD:SASL_SSL",
		"KAFKA_LISTENERS":                                "PLAINTEXT://:9092,TLS://:9094,PASSWORD://:9095,INTERNAL://:19092,CONTROLLER://:9093",
		"KAFKA_INTER_BROKER_LISTENER_NAME":               "INTERNAL",
		"KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR":         "1",
		"KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
		"KAFKA_TRANSACTION_STATE_LOG_MIN_ISR":            "1",
		"KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS":             "6", // few, because a restart loads them
		"KAFKA_TRANSACTION_STATE_LOG_NUM_PARTITIONS":     "6",
		"KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS":         "0",
		"KAFKA_AUTO_CREATE_TOPICS_ENABLE":                "false",
		// By default a broker aborts transactions past their timeout every 10 s; here every second.
		"KAFKA_TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS": "1000",

		"KAFKA_SSL_KEYSTORE_TYPE":                                         "PEM",
		"KAFKA_SSL_KEYSTORE_LOCATION":                                     "/tmp/" + brokerFile,
		"KAFKA_SSL_TRUSTSTORE_TYPE":                                       "PEM",
		"KAFKA_SSL_TRUSTSTORE_LOCATION":                                   "/tmp/" + caFile,
		"KAFKA_LISTENER_NAME_TLS_SSL_CLIENT_AUTH":                         "required",
		"KAFKA_LISTENER_NAME_PASSWORD_SASL_ENABLED_MECHANISMS":            "SCRAM-SHA-512",
		"KAFKA_LISTENER_NAME_PASSWORD_SCRAM___SHA___512_SASL_JAAS_CONFIG": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
		// A client has to authenticate again after this time, so that a new password counts soon.
		"KAFKA_LISTENER_NAME_PASSWORD_SCRAM___SHA___512_CONNECTIONS_MAX_REAUTH_MS": "2000",
	}
}

// dockerHost returns the host of published ports: this machine unless the environment names
// another. The name localhost does not work for every client in each address family.
func dockerHost() string {
	if host := os.Getenv("TESTCONTAINERS_HOST_OVERRIDE"); host != "" && host != "localhost" {
		return host
	}
	return "127.0.0.1"
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return 0, fmt.Errorf("%s has no port", l.Addr())
	}
	return addr.Port, nil
}

// serves returns an error unless n brokers are up and their coordinators answer.
func serves(ctx context.Context, addrs []string, n int) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addrs...))
	if err != nil {
		return err
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	list, err := adm.ListBrokers(ctx)
	if err != nil {
		return err
	}
	if len(list) < n {
		return fmt.Errorf("%d of %d brokers are up", len(list), n)
	}
	return errors.Join(adm.FindTxnCoordinators(ctx, "warm-up").Error(), adm.FindGroupCoordinators(ctx, "warm-up").Error())
}

func (b *broker) terminate() {
	if err := testcontainers.TerminateContainer(b.container); err != nil {
		fmt.Fprintln(os.Stderr, "container", b.id, "was not removed:", err)
	}
}

// docker runs restart, kill or start on the broker's container.
func (b *broker) docker(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "docker", append(args, b.id)...).CombinedOutput(); err != nil {
		t.Fatalf("docker %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// threeBrokers starts a cluster whose topics, internal topics included, have three replicas. The
// cleanup of the test removes it.
func threeBrokers(t *testing.T) []*broker {
	t.Helper()
	ctx := t.Context()
	nw, err := tcnetwork.New(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := nw.Remove(context.Background()); err != nil {
			t.Errorf("network %s was not removed: %v", nw.Name, err)
		}
	})
	var list []*broker
	var addrs []string
	for i := 1; i <= 3; i++ {
		name := fmt.Sprintf("kafka%d", i)
		b, err := launch(ctx, map[string]string{
			"KAFKA_NODE_ID":                                  strconv.Itoa(i),
			"KAFKA_CONTROLLER_QUORUM_VOTERS":                 "1@kafka1:9093,2@kafka2:9093,3@kafka3:9093",
			"KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR":         "3",
			"KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "3",
			"KAFKA_TRANSACTION_STATE_LOG_MIN_ISR":            "2",
			"KAFKA_MIN_INSYNC_REPLICAS":                      "2",
			"KAFKA_HEAP_OPTS":                                "-Xmx384m",
		}, name+":19092", tcnetwork.WithNetwork([]string{name}, nw))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.terminate)
		list, addrs = append(list, b), append(addrs, b.addr)
	}
	testlimit.Within(t, "three brokers", func(ctx context.Context) error { return serves(ctx, addrs, 3) })
	return list
}

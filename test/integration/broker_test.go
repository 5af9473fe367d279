package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/testcontainers/testcontainers-go"
	tcnetwork "github.com/testcontainers/testcontainers-go/network"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const image = "apache/kafka:4.3.1"

// restartable runs the image's start script so that the container can be started again: it
// continues if the storage is already formatted.
const restartable = `sed 's/^set -e$/set +e/' /etc/kafka/docker/run >/tmp/run && exec /bin/bash /tmp/run`

// broker is a container with a broker and a controller. Its port on the host is chosen before it
// starts, so that the advertised address stays the same over restarts.
type broker struct {
	addr, id  string
	container testcontainers.Container // nil for the broker of TestMain
}

// startBroker starts the single node that the tests share.
func startBroker(ctx context.Context) (*broker, error) {
	b, err := launch(ctx, map[string]string{
		"KAFKA_NODE_ID":                  "1",
		"KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9093",
		"KAFKA_HEAP_OPTS":                "-Xmx640m",
	}, "localhost:19092")
	if err != nil {
		return nil, err
	}
	if err := poll(ctx, time.Minute, func(ctx context.Context) error { return serves(ctx, []string{b.addr}, 1) }); err != nil {
		b.terminate()
		return nil, fmt.Errorf("the broker does not answer: %w", err)
	}
	return b, nil
}

// launch starts a container of image with env in addition to sharedSettings. PLAINTEXT is the
// listener for the tests. Brokers need an internal address even alone: with transactions v2 a
// broker connects to the transaction coordinator, which may be itself, to add a partition, and it
// cannot reach the port of the host from inside the container.
func launch(ctx context.Context, env map[string]string, internal string, more ...testcontainers.ContainerCustomizer) (*broker, error) {
	for try := 0; ; try++ { // another program may take the port before the engine does
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		b := &broker{addr: net.JoinHostPort(dockerHost(), strconv.Itoa(port))}
		settings := sharedSettings()
		maps.Copy(settings, env)
		settings["KAFKA_ADVERTISED_LISTENERS"] = "PLAINTEXT://" + b.addr + ",INTERNAL://" + internal
		opts := append([]testcontainers.ContainerCustomizer{
			testcontainers.WithEnv(settings), testcontainers.WithExposedPorts("9092/tcp"), testcontainers.WithCmd("/bin/bash", "-c", restartable),
			testcontainers.WithHostConfigModifier(func(h *container.HostConfig) {
				h.PortBindings = network.PortMap{network.MustParsePort("9092/tcp"): {{HostPort: strconv.Itoa(port)}}}
			}),
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

// sharedSettings returns the settings of all brokers.
func sharedSettings() map[string]string {
	return map[string]string{
		"CLUSTER_ID":                                     "5L6g3nShT-eMCtK--X86sw",
		"KAFKA_OPTS":                                     "-XX:TieredStopAtLevel=1", // the second compiler takes more time than it saves in a minute
		"KAFKA_PROCESS_ROLES":                            "broker,controller",
		"KAFKA_CONTROLLER_LISTENER_NAMES":                "CONTROLLER",
		"KAFKA_LISTENER_SECURITY_PROTOCOL_MAP":           "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT",
		"KAFKA_LISTENERS":                                "PLAINTEXT://:9092,INTERNAL://:19092,CONTROLLER://:9093",
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
	within(t, 2*time.Minute, "three brokers", func(ctx context.Context) error { return serves(ctx, addrs, 3) })
	return list
}

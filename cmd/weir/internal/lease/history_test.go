package lease

import (
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/processors/devbroker"
	"github.com/weirhq/weir/processors/kafka"

	"google.golang.org/protobuf/proto"
)

// If a broker has the topic of changes, the history of a key or a resource is read from it, and
// DynamoDB is not needed.
func TestHistoryFromKafka(t *testing.T) {
	broker, err := devbroker.Start(devbroker.Config{Topics: events.LeaseCatalog([]string{"eu"}, 3)})
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	p, err := kafka.NewProducer(kafka.Cluster{Brokers: broker.Addrs()}, events.LeaseChangesTopic)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, pool := range []string{"p", "q", "r", "s"} {
		for _, key := range []string{"mine", "other"} {
			for _, c := range []*eventspb.LeaseChange{
				{Row: &eventspb.LeaseChange_Key{Key: &eventspb.LeaseKey{Key: key, Region: "eu", Version: 2, State: "leased", Resource: "r-" + pool + key}}},
				{Row: &eventspb.LeaseChange_Resource{Resource: &eventspb.LeaseResource{Resource: "r-" + pool + key, Owner: "eu", Version: 1, AvailableMs: 1}}},
			} {
				c.Client, c.Pool, c.Region, c.AtMs = "c", pool, "eu", time.Now().UnixMilli()
				value, err := proto.Marshal(c)
				if err != nil {
					t.Fatal(err)
				}
				if err := p.Produce(t.Context(), events.LeaseShard("c", pool, 3), []byte(pool), value); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	env := []string{"WEIR_LEASES_REGIONS=eu=http://127.0.0.1:1", "WEIR_LEASES_PARTITIONS=3", "WEIR_KAFKA_BROKERS=" + broker.Addrs()[0], "AWS_EC2_METADATA_DISABLED=true"}
	// The number of partitions is that of the server, too, also if brokers are set.
	server := clitest.Server(t, &weirpb.GetClusterResponse{Leases: &weirpb.LeaseSettings{
		Table: "weir-leases", Regions: []string{"eu=http://127.0.0.1:1"}, Home: "eu", Skew: "500ms", Partitions: 3,
	}})
	ofServer := []string{"WEIR_SERVER=" + server, "WEIR_KAFKA_BROKERS=" + broker.Addrs()[0], "AWS_EC2_METADATA_DISABLED=true"}
	for _, pool := range []string{"p", "q", "r", "s"} {
		got := clitest.Run(t, Commands, ofServer, "lease", "history", "--from", "kafka", "--client", "c", "--pool", pool, "--key", "mine")
		if !strings.Contains(got.Stdout, "has r-"+pool+"mine") {
			t.Errorf("with the settings of a server, pool %s: %+v", pool, got)
		}
	}
	for _, c := range []struct{ args, want string }{
		{"--client c --pool q --key mine", "has r-qmine"},
		{"--client c --resource r-sother", "registered"},
		{"--client c --resource r-sother --since 1ns", ""},
		{"--client d --resource r-sother", ""},
	} {
		got := clitest.Run(t, Commands, env, append([]string{"lease", "history", "-o", "jsonl"}, strings.Fields(c.args)...)...)
		lines := strings.Count(got.Stdout, "\n")
		if got.Code != cli.ExitOK || !strings.Contains(got.Stdout, c.want) || lines != min(1, len(c.want)) || !strings.Contains(got.Stderr, "read topic lease.changes of Kafka") {
			t.Errorf("%s: %+v", c.args, got)
		}
	}
}

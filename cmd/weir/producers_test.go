package main

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/cmd/weir/internal/clitest"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/processors/kafka"
)

// TestProducers produces events by other ways than `weir ingest` to a `weir dev`: to the wrong
// partition, and by the programs of docs/producers.md.
func TestProducers(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and starts the binary")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	api, brokers := clitest.FreeAddr(t), clitest.FreeAddr(t)
	env := []string{
		"WEIR_API_LISTEN=" + api, "WEIR_API_OPS_LISTEN=" + clitest.FreeAddr(t), "WEIR_SERVER=" + api, "WEIR_KAFKA_BROKERS=" + brokers,
		"WEIR_LEASES_REGIONS=eu-west-1=http://" + clitest.FreeAddr(t) + ",us-east-1=http://" + clitest.FreeAddr(t),
	}
	_, port, _ := net.SplitHostPort(brokers)
	startDev(t, root, append(os.Environ(), env...), "--kafka-port", port, "--no-load")
	t.Run("wrong partition", func(t *testing.T) { testWrongPartition(t, env, brokers) })
	page, err := os.ReadFile(filepath.Join(root, "docs", "producers.md"))
	if err != nil {
		t.Fatal(err)
	}
	t.Run("python", func(t *testing.T) {
		python := os.Getenv("WEIR_TEST_PYTHON")
		if python == "" {
			python = "python3"
		}
		if out, err := exec.CommandContext(t.Context(), python, "-c", "import confluent_kafka, grpc_tools, xxhash").CombinedOutput(); err != nil {
			t.Skipf("needs Python with confluent-kafka, grpcio-tools and xxhash (WEIR_TEST_PYTHON names an interpreter): %v: %s", err, out)
		}
		runSnippet(t, page, "python", "produce.py", python+" -m grpc_tools.protoc -I "+root+"/events/eventspb --python_out=. ads.proto\n"+
			python+" produce.py "+brokers)
		checkCharged(t, env, "from-python", 4_500_000)
	})
	t.Run("node", func(t *testing.T) {
		modules := os.Getenv("WEIR_TEST_NODE_MODULES")
		if modules == "" {
			t.Skip("needs WEIR_TEST_NODE_MODULES: a node_modules folder with kafkajs, protobufjs and xxhash-wasm")
		}
		runSnippet(t, page, "js", "produce.mjs", "ln -s "+modules+" node_modules\ncp "+root+"/events/eventspb/ads.proto .\nnode produce.mjs "+brokers)
		checkCharged(t, env, "from-node", 4_500_000)
	})
}

// runSnippet writes the block of a language to a file and runs a script in its folder.
func runSnippet(t *testing.T, page []byte, language, file, script string) {
	t.Helper()
	runScript(t, snippet(t, page, language, file), os.Environ(), "set -e\n"+script)
}

// snippet writes the first block of a language to a file, and returns its folder.
func snippet(t *testing.T, page []byte, language, file string) (dir string) {
	t.Helper()
	_, block, found := strings.Cut(string(page), "```"+language+"\n")
	block, _, closed := strings.Cut(block, "\n```")
	if !found || !closed {
		t.Fatalf("the page has no block of %s", language)
	}
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, file), []byte(block+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// testWrongPartition produces two events of one id to a partition that is not the account's.
// `weir dlq replay` moves them to the partition of the account, where one is counted and the other
// is its duplicate.
func testWrongPartition(t *testing.T, env []string, brokers string) {
	sink, err := kafka.NewProducer(kafka.Cluster{Brokers: []string{brokers}}, events.EventsTopic)
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Close()
	for range 2 {
		value := events.AppendEvent(nil, &eventspb.AdEvent{
			EventId: "e1", Type: eventspb.EventType_EVENT_TYPE_CLICK, Account: "acme", Campaign: "misplaced",
			PriceMicros: 1234, Currency: "USD", EventMs: time.Now().UnixMilli(),
		})
		wrong := (events.Shard("acme", events.DefaultShards) + 1) % events.DefaultShards
		if err := sink.Produce(t.Context(), wrong, []byte("acme"), value); err != nil {
			t.Fatal(err)
		}
	}
	if err := sink.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	list := func() (letters []struct{ Origin, Reason string }) {
		t.Helper()
		out := weir(t, env, "dlq", "list", "-o", "json")
		if err := json.Unmarshal([]byte(out.Stdout), &letters); err != nil {
			t.Fatalf("%v: %+v", err, out)
		}
		return letters
	}
	for until := time.Now().Add(time.Minute); len(list()) < 2; {
		if time.Now().After(until) {
			t.Fatalf("not in the dead-letter topic: %v", list())
		}
	}
	out := weir(t, env, "dlq", "replay", "--all", "--reason", "wrong_partition", "--yes", "-o", "json")
	if out.Code != 0 || !strings.Contains(strings.ReplaceAll(out.Stdout, " ", ""), `"done":2`) {
		t.Fatalf("%+v", out)
	}
	checkCharged(t, env, "misplaced", 1234)
	if left := list(); len(left) != 0 {
		t.Errorf("dead letters are left: %v", left)
	}
}

// checkCharged checks what a campaign is charged, in micros.
func checkCharged(t *testing.T, env []string, campaign string, want int64) {
	t.Helper()
	out := weir(t, env, "spend", "show", "--campaign", campaign, "--wait", "-o", "json")
	var got struct {
		ChargedMicros int64 `json:"charged_micros"`
	}
	if err := json.Unmarshal([]byte(out.Stdout), &got); err != nil || got.ChargedMicros != want {
		t.Errorf("want %d micros: %v, %+v", want, err, out)
	}
}

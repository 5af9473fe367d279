package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/devbroker"
)

// datacentre starts a broker with the topics of a datacentre of a configuration, on a port, and
// returns it and its address.
func datacentre(t *testing.T, environ []string, port int) (b *devbroker.Broker, addr string) {
	t.Helper()
	cfg, err := config.Load(config.Options{Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	if b, err = devbroker.Start(devbroker.Config{Port: port, Topics: node.Topics(cfg, node.InGroups("spend"))}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b, b.Addrs()[0]
}

// eventually runs a command until it prints a text.
func eventually(t *testing.T, environ []string, want string, args ...string) {
	t.Helper()
	for until := time.Now().Add(time.Minute); ; {
		r := weir(t, environ, args...)
		if strings.Contains(r.Stdout+r.Stderr, want) {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("weir %q: no %s in %s%s", args, want, r.Stdout, r.Stderr)
		}
	}
}

// TestMirror: events and adjustments that another datacentre takes are counted here. weir mirror
// status shows what is copied. After the other datacentre has lost its log, the copies stop, and
// weir mirror skip lets one continue, as it has planned.
func TestMirror(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process and three brokers")
	}
	dir := t.TempDir()
	common := []string{"WEIR_SPEND_PARTITIONS=2", "WEIR_INSTANCE=a"}
	usEnv := append(slices.Clone(common), "WEIR_DC=us", "WEIR_DATA_DIR="+filepath.Join(dir, "us"))
	us, usAddr := datacentre(t, usEnv, 0)
	usEnv = append(usEnv, "WEIR_KAFKA_BROKERS="+usAddr)
	env := append(slices.Clone(common), "WEIR_DC=eu", "WEIR_DCS=eu,us="+usAddr, "WEIR_DATA_DIR="+filepath.Join(dir, "eu"))
	_, addr := datacentre(t, env, 0)
	env = append(env, "WEIR_KAFKA_BROKERS="+addr)
	ready := background(t, env, "ready: API ", "run", "--roles", "spend", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	doctorEnv := append(slices.Clone(env), "WEIR_TOPICS_REPLICATION_FACTOR=1", "WEIR_TOPICS_MIN_INSYNC=1")
	server := "WEIR_SERVER=" + regexp.MustCompile(`API http://([^,]+),`).FindStringSubmatch(ready)[1]
	env = append(slices.Clone(common), server, "WEIR_DATA_DIR="+filepath.Join(dir, "command")) // the server has the rest

	made := 0
	send := func() {
		made++
		at := time.Now().UnixMilli()
		event := fmt.Sprintf(`{"event_id":"e%d","account":"acme","campaign":"spring","type":"click","price_micros":10000000,"currency":"USD","budget_day":"20261101","event_ms":%d,"ingest_ms":%d}`+"\n", made, at, at)
		file := filepath.Join(dir, fmt.Sprint(made))
		if err := os.WriteFile(file, []byte(event), 0o600); err != nil {
			t.Fatal(err)
		}
		expect(t, usEnv, 0, "produced:           1\n", "ingest", file, "--format", "jsonl", "--brokers", usAddr)
	}
	spent := func(charged, refunded int) {
		t.Helper()
		eventually(t, env, fmt.Sprintf(`"charged_micros":%d,"refunded_micros":%d,`, charged, refunded), "spend", "show", "--campaign", "spring", "-o", "json")
	}
	send()
	expect(t, usEnv, 0, "", "adjust", "create", "--reference", "r1", "--account", "acme", "--campaign", "spring", "--day", "2026-11-01", "--amount", "4", "--currency", "USD", "--serving-dc", "us", "--brokers", usAddr)
	spent(10_000_000, 4_000_000)
	list := rows(t, env, func(list []map[string]any) bool {
		copying := func(r map[string]any) bool { return r["state"] == "copying" && r["lag"] == 0.0 }
		return !slices.ContainsFunc(list, func(r map[string]any) bool { return !copying(r) })
	}, "mirror", "status")
	if len(list) != 6 || list[0]["dc"] != "us" || list[0]["topic"] != "ads.events" || list[3]["topic"] != "ads.adjustments" || list[3]["partition"] != 1.0 || list[5]["topic"] != "ads.budgets" {
		t.Errorf("status %v", list)
	}
	expect(t, env, cli.ExitUsage, "did you mean us?", "mirror", "status", "--dc", "su")
	expect(t, env, cli.ExitFailed, "the copy is not stopped", "mirror", "skip", "us/ads.events/0", "--to", "1")
	expect(t, env, cli.ExitUsage, "did you mean us?", "mirror", "skip", "uss/ads.events/0", "--to", "1")
	expect(t, env, cli.ExitUsage, "is not copied", "mirror", "skip", "us/ads.events.from.eu/0", "--to", "1")
	expect(t, env, cli.ExitUsage, "write DC/TOPIC/PARTITION", "mirror", "skip", "ads.events/0", "--to", "1")

	testDatacentreChecks(t, doctorEnv, addr)

	// Without its broker, us is waited for; the process is ready, and reports it.
	if err := us.Close(); err != nil {
		t.Fatal(err)
	}
	rows(t, env, func(list []map[string]any) bool {
		return !slices.ContainsFunc(list, func(r map[string]any) bool { return r["state"] != "waiting" || r["reason"] == "" })
	}, "mirror", "status")
	eventually(t, env, "mirror: 6 of 6 partitions of us wait", "lag")

	// The broker returns without its log.
	_, port, err := net.SplitHostPort(usAddr)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	datacentre(t, usEnv, number)
	shard := events.Shard("acme", 2)
	rows(t, env, func(list []map[string]any) bool { return list[shard]["state"] == "stopped" }, "mirror", "status")
	name := fmt.Sprintf("us/ads.events/%d", shard)
	expect(t, env, 0, "`weir mirror skip "+name+" --to 0` shows what is lost", "mirror", "status")
	send()
	expect(t, env, cli.ExitFailed, "repeat the command with --to 0", "mirror", "skip", name, "--to", "1")
	expect(t, env, cli.ExitUsage, "--why is missing", "mirror", "skip", name, "--to", "0", "--yes")
	expect(t, env, 0, "repeat the command with --why and --yes", "mirror", "skip", name, "--to", "0")
	spent(10_000_000, 4_000_000)
	expect(t, env, 0, `"lost": -1`, "mirror", "skip", name, "--to", "0", "--why", "the log is lost", "--yes", "-o", "json")
	spent(20_000_000, 4_000_000)
	if r := weir(t, env, "state", "scan", "--app", "mirror", "--table", "skips"); r.Code != 0 || !strings.Contains(r.Stdout, "the log is lost") {
		t.Errorf("code %d:\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
}

// testDatacentreChecks: weir doctor checks the topics of each other datacentre.
func testDatacentreChecks(t *testing.T, env []string, own string) {
	t.Helper()
	expect(t, env, 0, "ok        datacentre us: it has ads.events and ads.adjustments and ads.budgets with 2 partitions", "doctor")
	other := append(slices.Clone(env), "WEIR_SPEND_PARTITIONS=3")
	_, addr := datacentre(t, append(other, "WEIR_DC=us", "WEIR_DCS="), 0)
	with := func(ring string) []string { return append(slices.Clone(env), "WEIR_DCS="+ring) }
	expect(t, with("eu,us="+addr), cli.ExitFailed, "error     datacentre us: topic ads.events has 3 partitions there, and 2 here", "doctor")
	_, port, err := net.SplitHostPort(own)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, with("eu,us=localhost:"+port), cli.ExitFailed, "error     datacentre us: its topic ads.events is that of this datacentre, eu", "doctor")
	empty, err := devbroker.Start(devbroker.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = empty.Close() }()
	expect(t, with("eu,us="+empty.Addrs()[0]), 0, "warning   datacentre us: topic ads.events does not exist there", "doctor")
	expect(t, with("eu,us=127.0.0.1:1"), 0, "warning   datacentre us: it cannot be reached", "doctor")
}

// TestMirrorAlone: a process that runs the mirror alone is ready while the only other datacentre
// does not answer, so that a rolling update does not wait for it.
func TestMirrorAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process and a broker")
	}
	env := []string{"WEIR_SPEND_PARTITIONS=2", "WEIR_INSTANCE=a", "WEIR_DC=eu", "WEIR_DCS=eu,us=127.0.0.1:1", "WEIR_DATA_DIR=" + t.TempDir()}
	_, addr := datacentre(t, env, 0)
	env = append(env, "WEIR_KAFKA_BROKERS="+addr)
	ready := background(t, env, "ready: API ", "run", "--roles", "mirror", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	server := "WEIR_SERVER=" + regexp.MustCompile(`API http://([^,]+),`).FindStringSubmatch(ready)[1]
	client := []string{"WEIR_SPEND_PARTITIONS=2", server, "WEIR_DATA_DIR=" + filepath.Join(t.TempDir(), "command")}
	list := rows(t, client, func(list []map[string]any) bool {
		return len(list) == 6 && !slices.ContainsFunc(list, func(r map[string]any) bool { return r["state"] != "waiting" || r["reason"] == "" })
	}, "mirror", "status")
	if lag, known := list[0]["lag_seconds"]; known {
		t.Errorf("the lag is not known, and reported as %v", lag)
	}
	eventually(t, client, "mirror: 6 of 6 partitions of us wait", "lag", "--app", "mirror")
}

// TestMirrorWithoutTopics: without its topics the role mirror waits, and the spend counter of the
// process works. Once the topics exist, the role continues by itself.
func TestMirrorWithoutTopics(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process and two brokers")
	}
	dir := t.TempDir()
	common := []string{"WEIR_SPEND_PARTITIONS=2", "WEIR_INSTANCE=a", "WEIR_TOPICS_REPLICATION_FACTOR=1", "WEIR_TOPICS_MIN_INSYNC=1"}
	_, us := datacentre(t, append(slices.Clone(common), "WEIR_DC=us", "WEIR_DATA_DIR="+filepath.Join(dir, "us")), 0)
	env := append(slices.Clone(common), "WEIR_DC=eu", "WEIR_DCS=eu,us="+us, "WEIR_DATA_DIR="+filepath.Join(dir, "eu"))
	cfg, err := config.Load(config.Options{Environ: env})
	if err != nil {
		t.Fatal(err)
	}
	broker, err := devbroker.Start(devbroker.Config{Topics: append(node.SpendCounter(cfg).Topics(), node.Pacing(cfg).Topics()...)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = broker.Close() })
	env = append(env, "WEIR_KAFKA_BROKERS="+broker.Addrs()[0])
	ready := background(t, env, "ready: API ", "run", "--roles", "spend", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	server := "WEIR_SERVER=" + regexp.MustCompile(`API http://([^,]+),`).FindStringSubmatch(ready)[1]
	client := append(slices.Clone(common), server, "WEIR_DATA_DIR="+filepath.Join(dir, "command"))
	eventually(t, client, "mirror.state", "lag", "--app", "spendcounter") // the reason why the role waits
	expect(t, env, 0, "create topic mirror.state", "topics", "apply", "--for", "spend")
	list := rows(t, client, func(list []map[string]any) bool {
		return len(list) == 6 && !slices.ContainsFunc(list, func(r map[string]any) bool { return r["state"] != "copying" })
	}, "mirror", "status")
	if list[0]["process"] != "a" {
		t.Errorf("status %v", list)
	}
}

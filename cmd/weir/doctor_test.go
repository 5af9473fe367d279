package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/cmd/weir/internal/clitest"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/devbroker"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// TestDoctorOfOneRole runs the processes of one role. `weir doctor` has a line for the partitions
// of each application, and warns of each one without a process: of the executors too.
func TestDoctorOfOneRole(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	for role, runs := range map[string][]string{
		"spendcounter": {"spendcounter"},
		"dedup":        {"lease-dedup"},
		"executor":     {"lease-executor.eu", "lease-executor.us"},
	} {
		t.Run(role, func(t *testing.T) {
			env := append(clitest.DynamoDB(t), "WEIR_SPEND_PARTITIONS=2", "WEIR_LEASES_PARTITIONS=2", "WEIR_DATA_DIR="+t.TempDir())
			cfg, err := config.Load(config.Options{Environ: env})
			if err != nil {
				t.Fatal(err)
			}
			broker, err := devbroker.Start(devbroker.Config{Topics: node.Topics(cfg, node.Roles())})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = broker.Close() })
			env = append(env, "WEIR_KAFKA_BROKERS="+strings.Join(broker.Addrs(), ","))
			for _, line := range []string{"table apply", "region create eu", "region create us"} {
				expect(t, env, 0, "", strings.Fields(line)...)
			}
			background(t, env, "ready: ", "run", "--roles", role, "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
			for _, app := range runs { // the process is ready when one of its executors is
				rows(t, env, func(l []map[string]any) bool {
					return !slices.ContainsFunc(l, func(r map[string]any) bool { return r["process"] == "" })
				}, "lag", "--app", app)
			}
			for _, group := range []string{"spend", "leases"} {
				checks := partitionChecks(t, env, group)
				for _, app := range apps(t, cfg, group) {
					found, warned := checks[app], strings.HasPrefix(checks[app], "warning not known: no process runs")
					if found == "" || warned == slices.Contains(runs, app) {
						t.Errorf("--for %s: partitions of %s: %q", group, app, found)
					}
				}
			}
		})
	}
}

// apps returns the names of the applications of a group of roles.
func apps(t *testing.T, cfg *config.Config, group string) (names []string) {
	t.Helper()
	list, err := node.Apps(cfg, node.InGroups(group))
	if err != nil {
		t.Fatal(err)
	}
	for _, app := range list {
		names = append(names, app.Name)
	}
	return names
}

// partitionChecks returns what `weir doctor` finds about the partitions of each application.
func partitionChecks(t *testing.T, env []string, group string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for name, text := range doctorChecks(t, env, group) {
		if app, ok := strings.CutPrefix(name, "partitions of "); ok {
			found[app] = text
		}
	}
	return found
}

// doctorChecks returns what `weir doctor` finds, by name: "ok" or the severity, and the detail.
func doctorChecks(t *testing.T, env []string, group string) map[string]string {
	t.Helper()
	r := weir(t, env, "doctor", "--for", group, "-o", "json")
	var checks []struct {
		Name, Severity, Detail, Do string
		OK                         bool
	}
	if err := json.Unmarshal([]byte(r.Stdout), &checks); err != nil {
		t.Fatalf("%v in %+v", err, r)
	}
	found := map[string]string{}
	for _, c := range checks {
		if found[c.Name] = strings.TrimSpace(c.Severity + " " + c.Detail + " " + c.Do); c.OK {
			found[c.Name] = "ok " + c.Detail
		}
	}
	return found
}

// TestDoctorOfMove: `weir doctor` of a generation reports that the state of the former one was not
// moved to it, or not completely, and what to do.
func TestDoctorOfMove(t *testing.T) {
	env := []string{"WEIR_SPEND_PARTITIONS=2", "WEIR_DATA_DIR=" + t.TempDir()}
	next := append(slices.Clone(env), "WEIR_SPEND_GENERATION=2")
	var topics []stream.Topic
	var changelogs []string
	for _, e := range [][]string{env, next} {
		cfg, err := config.Load(config.Options{Environ: e})
		if err != nil {
			t.Fatal(err)
		}
		proc, err := node.SpendCounter(cfg).Processor()
		if err != nil {
			t.Fatal(err)
		}
		topics, changelogs = append(topics, node.SpendCounter(cfg).Topics()...), append(changelogs, proc.Changelog)
	}
	broker, err := devbroker.Start(devbroker.Config{Topics: topics})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = broker.Close() })
	next = append(next, "WEIR_KAFKA_BROKERS="+strings.Join(broker.Addrs(), ","))
	mark := func(changelog string, move changelogpb.Move, partitions ...int32) {
		t.Helper()
		sink, err := kafka.NewProducer(kafka.Cluster{Brokers: broker.Addrs()}, changelog)
		if err != nil {
			t.Fatal(err)
		}
		defer sink.Close()
		value, err := proto.Marshal(&changelogpb.Marker{Sequence: 1, Move: move})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range partitions {
			if err := sink.Produce(t.Context(), p, changelogpb.SystemKey(changelogpb.MarkerKey), value); err != nil {
				t.Fatal(err)
			}
		}
		if err := sink.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want, do string) {
		t.Helper()
		if got := doctorChecks(t, next, "spend")["move of the state"]; !strings.HasPrefix(got, want) || !strings.HasSuffix(got, do) {
			t.Errorf("%q, want %q ... %q", got, want, do)
		}
	}
	check("ok ", "") // no former state
	mark(changelogs[0], changelogpb.Move_MOVE_UNSPECIFIED, 0, 1)
	check("error the state of the former partitions was not moved here", "run `weir repartition` with this configuration")
	mark(changelogs[1], changelogpb.Move_MOVE_INCOMPLETE, 0, 1)
	check("error the move is not complete: of the 2 partitions", "run `weir repartition` again with this configuration, which completes the move")
	mark(changelogs[1], changelogpb.Move_MOVE_COMPLETE, 0)
	check("error the move is not complete: of the 2 partitions", "run `weir repartition` again with this configuration, which completes the move")
	mark(changelogs[1], changelogpb.Move_MOVE_COMPLETE, 1)
	check("ok ", "")
}

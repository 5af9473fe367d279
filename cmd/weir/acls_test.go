package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/clitest"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/processors/kafka/acltest"
)

// TestACLs runs each role, and the move to another generation, as users who have exactly the rights
// that `weir doctor --acls` prints. The spend counter runs in both generations.
func TestACLs(t *testing.T) {
	if testing.Short() {
		t.Skip("starts seven processes")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	users := slices.Concat(node.RoleNames(), refusedUsers(), []string{"repartition", "second", "us"})
	a := authorized{acltest.Start(t, users...), append(clitest.DynamoDB(t),
		"WEIR_SPEND_PARTITIONS=2", "WEIR_LEASES_PARTITIONS=2", "WEIR_TOPICS_REPLICATION_FACTOR=1", "WEIR_TOPICS_MIN_INSYNC=1",
		"WEIR_KAFKA_SASL_MECHANISM=PLAIN", "WEIR_KAFKA_SASL_PASSWORD="+acltest.Password)}
	for _, line := range []string{"table apply", "region create eu", "region create us", "topics apply --for spend,leases,jobs"} {
		expect(t, a.as(acltest.Admin), 0, "", strings.Fields(line)...)
	}
	second := []string{"WEIR_SPEND_GENERATION=2", "WEIR_SPEND_PARTITIONS=3"}
	expect(t, a.as(acltest.Admin, second...), 0, "", "topics", "apply")
	// The mirror has another generation: its heartbeats would have to be counted before a move.
	third := []string{"WEIR_SPEND_GENERATION=3"}
	there := append(slices.Clone(third), "WEIR_DC=us", "WEIR_SPEND_PARTITIONS=2", "WEIR_DATA_DIR="+t.TempDir())
	_, us := datacentre(t, append(slices.Clone(there), "WEIR_DCS=local=127.0.0.1:1,us"), 0)
	third = append(third, "WEIR_DCS=local,us="+us)
	expect(t, a.as(acltest.Admin, third...), 0, "", "topics", "apply")
	for _, r := range node.Roles() {
		t.Run(r.Name, func(t *testing.T) {
			var more []string
			if r.Name == "mirror" || r.Name == "push" {
				more = third
			}
			server := a.run(t, r.Name, r.Name, more...)
			switch r.Name {
			case "spendcounter":
				a.count(t, server, 1)
			case "pacing":
				expect(t, []string{"WEIR_SERVER=" + server}, 0, "set", "budget", "set", "acme", "--campaign", "spring", "--daily", "1", "--time-zone", "UTC", "--currency", "EUR")
			case "jobs":
				at := []string{"WEIR_SERVER=" + server}
				eventually(t, at, "PENDING", "queue", "set", "work")
				expect(t, at, 0, "JOB", "job", "submit", "work")
				eventually(t, at, "lease_until", "job", "poll", "work", "--agent", "a", "-o", "json")
			case "push": // it is ready at once
				pushing(t, a.as(acltest.Admin, more...))
			}
		})
	}
	t.Run("push into it", func(t *testing.T) { a.pushedInto(t, us, there) })
	t.Run("refused", func(t *testing.T) { a.refused(t, second) })
	t.Run("repartition", func(t *testing.T) {
		a.cluster.Grant(t, "repartition", a.acls(t, "weir repartition", second...)...)
		expect(t, a.as("repartition", second...), 0, "", "repartition", "--yes", "--data-dir", t.TempDir())
	})
	t.Run("generation 2", func(t *testing.T) {
		a.count(t, a.run(t, "spendcounter", "second", second...), 2, second...)
	})
}

// authorized is the configuration of a broker with an authorizer.
type authorized struct {
	cluster *acltest.Cluster
	environ []string
}

// as returns the environment of a user, with more settings.
func (a authorized) as(user string, more ...string) []string {
	return slices.Concat(a.environ, more, []string{"WEIR_KAFKA_BROKERS=" + strings.Join(a.cluster.Brokers, ","), "WEIR_KAFKA_SASL_USER=" + user})
}

// run starts a role as a user who gets the rights that are printed for it, until the test ends. It
// returns the address of the API.
func (a authorized) run(t *testing.T, role, user string, more ...string) string {
	t.Helper()
	a.cluster.Grant(t, user, a.acls(t, role, more...)...)
	ready := background(t, a.as(user, more...), "ready: ", "run", "--roles", role, "--data-dir", t.TempDir(), "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	return regexp.MustCompile(`API http://([^,]+),`).FindStringSubmatch(ready)[1]
}

// pushedInto runs the push of the datacentre us, whose broker asks for no rights, into this one.
func (a authorized) pushedInto(t *testing.T, us string, there []string) {
	t.Helper()
	brokers := strings.Join(a.cluster.Brokers, ", ")
	ring := "WEIR_DCS=local=" + strings.ReplaceAll(brokers, ", ", "+") + ",us"
	a.cluster.Grant(t, "us", aclsOf(t, append(there, ring, "WEIR_KAFKA_BROKERS="+us), "push")...)
	dir := t.TempDir()
	file, password := filepath.Join(dir, "weir.yaml"), filepath.Join(dir, "password")
	text := fmt.Sprintf("kafka: {brokers: [%s]}\ndcs: [{name: local, brokers: [%s], sasl: {mechanism: PLAIN, user: us, password_file: %q}}, us]\n",
		us, brokers, password)
	if err := errors.Join(os.WriteFile(file, []byte(text), 0o600), os.WriteFile(password, []byte(acltest.Password), 0o600)); err != nil {
		t.Fatal(err)
	}
	env := append(there, "WEIR_TOPICS_REPLICATION_FACTOR=1", "WEIR_TOPICS_MIN_INSYNC=1")
	background(t, env, "ready: ", "run", "-f", file, "--roles", "push", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	pushing(t, append(env, "WEIR_CONFIG="+file))
}

// pushing waits until all partitions are pushed.
func pushing(t *testing.T, env []string) {
	t.Helper()
	rows(t, env, func(list []map[string]any) bool {
		wait := func(r map[string]any) bool { return r["state"] != "pushing" || r["lag"] != 0.0 }
		return len(list) > 0 && !slices.ContainsFunc(list, wait)
	}, "push", "status")
}

// refused takes rights from the users of generation 2. The error names the resource and the right.
func (a authorized) refused(t *testing.T, second []string) {
	const counter, move = "spendcounter", "weir repartition"
	for i, c := range []struct{ of, resource, rights, want string }{
		{counter, "--topic spend.by.local ", "Describe", "Describe of topic spend.by.local:"},
		{counter, "--topic ads.adjustments.g2 ", "Read Describe", "Describe of topic ads.adjustments.g2:"},
		{move, "--topic spend.by.local ", "Read", "read spend.by.local[0]: TOPIC_AUTHORIZATION_FAILED"},
		{move, "--topic spend.by.local ", "Write", "write to spend.by.local: TOPIC_AUTHORIZATION_FAILED"},
		{move, "--topic spendcounter.dlq ", "Read Describe", "Describe of topic spendcounter.dlq:"},
		{move, "--topic spendcounter.dlq.g2 ", "DescribeConfigs", "DescribeConfigs of topic spendcounter.dlq.g2:"},
		{move, "--group spendcounter ", "Read", "Read of group spendcounter:"},
		{move, "--transactional-id spendcounter.g2- ", "Write", "transactions of spendcounter.g2-offline:"},
	} {
		user := refusedUsers()[i]
		for _, line := range a.acls(t, c.of, second...) {
			if strings.HasPrefix(line, c.resource) {
				for right := range strings.FieldsSeq(c.rights) {
					line = strings.Replace(line, " --operation "+right, "", 1)
				}
			}
			if strings.Contains(line, " --operation ") {
				a.cluster.Grant(t, user, line)
			}
		}
		args := []string{"repartition", "--yes"}
		if c.of == counter {
			args = []string{"run", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"}
		}
		expect(t, a.as(user, second...), 77, c.want, append(args, "--data-dir", t.TempDir())...)
	}
}

// refusedUsers returns a user for each case of refused.
func refusedUsers() []string { return []string{"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7"} }

// count sends event n of a campaign and expects that n events are counted.
func (a authorized) count(t *testing.T, server string, n int, more ...string) {
	t.Helper()
	a.produce(t, server, n, more...)
	a.counted(t, server, n, more...)
}

func (a authorized) produce(t *testing.T, server string, n int, more ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "events.jsonl")
	event := fmt.Sprintf(`{"event_id":"e%d","account":"a","campaign":"c","type":"click","price_micros":1,"currency":"USD","event_ms":1384000000000}`, n)
	if err := os.WriteFile(file, []byte(event+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, a.as(acltest.Admin, append(more, "WEIR_SERVER="+server)...), 0, "produced:           1\n", "ingest", file, "--format", "jsonl")
}

// counted waits until n events are counted.
func (a authorized) counted(t *testing.T, server string, n int, more ...string) {
	t.Helper()
	env := a.as(acltest.Admin, append(more, "WEIR_SERVER="+server)...)
	testlimit.Within(t, "the server answers", func(context.Context) error {
		if r := weir(t, env, "spend", "show", "--campaign", "c", "--wait"); r.Code != 0 { //nolint:contextcheck // the command has its own context
			return errors.New(r.Stderr)
		}
		return nil
	})
	expect(t, env, 0, fmt.Sprintf(`"charged_micros":%d,`, n), "spend", "show", "--campaign", "c", "--wait", "-o", "json")
}

// acls returns the lines that `weir doctor --acls` prints for a role or a command, without those
// for further uses.
func (a authorized) acls(t *testing.T, of string, more ...string) (lines []string) {
	t.Helper()
	return aclsOf(t, a.as(acltest.Admin, more...), of)
}

// aclsOf is acls with an environment. The rights in another datacentre are among the lines.
func aclsOf(t *testing.T, env []string, of string) (lines []string) {
	t.Helper()
	rows(t, env, func(checks []map[string]any) bool {
		for _, c := range checks {
			if c["name"] == "acls of "+of {
				_, list, _ := strings.Cut(c["detail"].(string), "\n")
				list, _, _ = strings.Cut(list, "\nfor imports")
				lines = slices.DeleteFunc(strings.Split(list, "\n"), func(line string) bool { return strings.HasPrefix(line, "at the Kafka of ") })
			}
		}
		return true
	}, "doctor", "--acls", "--for", "spend,leases,jobs")
	if len(lines) == 0 {
		t.Fatalf("no ACLs of %s are printed", of)
	}
	return lines
}

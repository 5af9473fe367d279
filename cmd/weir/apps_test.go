package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/program"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

// background runs a command that does not end by itself in the process of the test, until the test
// ends, and returns the first line that begins with prefix.
func background(t *testing.T, environ []string, prefix string, args ...string) string {
	t.Helper()
	line, _ := stoppable(t, environ, prefix, args...)
	return line
}

// stoppable is background with a function that stops the command, and waits for its end.
func stoppable(t *testing.T, environ []string, prefix string, args ...string) (line string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	out, in := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		code := run(ctx, cli.Process{Args: args, Environ: environ, Stdin: strings.NewReader(""), Stdout: in, Stderr: in})
		_ = in.CloseWithError(fmt.Errorf("weir %s ended with code %d", args[0], code))
	}()
	stop = func() {
		cancel()
		go func() { _, _ = io.Copy(io.Discard, out) }() // the last lines must not block the command
		<-ended
	}
	t.Cleanup(stop)
	limit := time.AfterFunc(testlimit.Limit, func() { _ = in.CloseWithError(fmt.Errorf("%v have passed", testlimit.Limit)) })
	defer limit.Stop()
	var lines []string
	text := bufio.NewScanner(out)
	for text.Scan() {
		if lines = append(lines, text.Text()); strings.HasPrefix(text.Text(), prefix) {
			go func() { _, _ = io.Copy(io.Discard, out) }() // what follows must not block the command
			return text.Text(), stop
		}
	}
	t.Fatalf("no line %q in %q: %v", prefix, lines, text.Err())
	return "", stop
}

// rows runs a command with -o json until done returns true, and returns the rows.
func rows(t *testing.T, environ []string, done func([]map[string]any) bool, args ...string) (list []map[string]any) {
	t.Helper()
	until := time.Now().Add(time.Minute)
	for {
		r := weir(t, environ, append(args, "-o", "json")...)
		list = nil
		err := json.Unmarshal([]byte(r.Stdout), &list)
		if err == nil && done(list) {
			return list
		}
		if time.Now().After(until) {
			t.Fatalf("weir %q: %v, %+v", args, err, r)
		}
	}
}

// expect runs a command and checks its exit code and what it prints.
func expect(t *testing.T, environ []string, code int, want string, args ...string) {
	t.Helper()
	r := weir(t, environ, args...)
	if text := r.Stdout + r.Stderr; r.Code != code || !strings.Contains(text, want) {
		t.Errorf("weir %s: code %d, want %d and %q in:\n%s", strings.Join(args, " "), r.Code, code, want, text)
	}
}

// TestApps runs everything in one process, beside it a process of the lease roles alone and a
// program of one's own, and gives the commands of each application.
func TestApps(t *testing.T) {
	if testing.Short() {
		t.Skip("starts three processes")
	}
	_, port, _ := net.SplitHostPort(clitest.FreeAddr(t))
	broker := "127.0.0.1:" + port
	env := []string{
		"WEIR_LEASES_REGIONS=eu,us", "WEIR_SPEND_PARTITIONS=2", "WEIR_LEASES_PARTITIONS=2", "WEIR_KAFKA_BROKERS=" + broker, "WEIR_DATA_DIR=" + t.TempDir(),
		"AWS_EC2_METADATA_DISABLED=true", "AWS_ACCESS_KEY_ID=any", "AWS_SECRET_ACCESS_KEY=any", "AWS_REGION=eu",
	}
	join := background(t, append(slices.Clone(env), "WEIR_INSTANCE=first"), "  join ",
		"dev", "--no-load", "--kafka-port", port, "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	regions := regexp.MustCompile(`--regions (\S+)`).FindStringSubmatch(join)
	if regions == nil {
		t.Fatalf("no regions in %q", join)
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	ready := background(t, env, "ready: API ", "run", "--roles", "leases", "--instance", "second", "--data-dir", t.TempDir(),
		"--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--regions", regions[1])
	second := regexp.MustCompile(`API http://([^,]+),`).FindStringSubmatch(ready)[1]
	at := append(slices.Clone(env), "WEIR_SERVER="+second)

	t.Run("lag", func(t *testing.T) { testLag(t, env) })
	t.Run("lease-only", func(t *testing.T) { testLeaseOnly(t, at) })
	t.Run("dlq", func(t *testing.T) {
		for _, app := range []string{"spendcounter", "pacing", "lease-bridge", "lease-liberator", "lease-dedup", "lease-balancer"} {
			rows(t, env, func(l []map[string]any) bool { return len(l) == 0 }, "dlq", "list", "--app", app)
		}
		expect(t, env, 64, "did you mean lease-balancer?", "dlq", "list", "--app", "balancer")
		expect(t, env, 64, "an executor has no dead letters", "dlq", "list", "--app", "lease-executor.eu")
		expect(t, env, 69, "nosuch.dlq", "dlq", "list", "--group", "nosuch")
	})
	t.Run("doctor", func(t *testing.T) { testDoctor(t, append(slices.Clone(env), "WEIR_LEASES_REGIONS="+regions[1])) })
	t.Run("replay", func(t *testing.T) {
		expect(t, env, 1, "spendcounter has no replay nosuch", "replay", "--app", "nosuch", "--drop")
		expect(t, env, 64, "cannot be replayed", "replay", "--app", "x", "--of", "lease-dedup")
		expect(t, env, 64, "did you mean lease-dedup?", "replay", "--app", "x", "--of", "lease-dedupe")
	})
	t.Run("own program", func(t *testing.T) { testOwnProgram(t, env, broker) })
}

// testLag: the lag of every application is known, and processes report their partitions.
func testLag(t *testing.T, env []string) {
	var apps []string
	rows(t, env, func(list []map[string]any) bool {
		apps = nil
		owners := map[string]map[any]bool{} // by application
		for _, r := range list {
			app := r["app"].(string)
			if owners[app] == nil {
				owners[app] = map[any]bool{}
			}
			owners[app][r["process"]] = true
			if !slices.Contains(apps, app) {
				apps = append(apps, app)
			}
			if r["task"] != "running" || r["process"] == "" {
				return false
			}
		}
		// The processes share the partitions: none moves any more.
		return len(owners["lease-liberator"]) == 2 && len(owners["lease-dedup"]) == 2 && len(owners["lease-balancer"]) == 2
	}, "lag")
	want := []string{"spendcounter", "pacing", "lease-bridge", "lease-liberator", "lease-dedup", "lease-balancer", "lease-executor.eu", "lease-executor.us", "jobs"}
	if !slices.Equal(apps, want) {
		t.Errorf("the applications are %q, want %q", apps, want)
	}
	rows(t, env, func(l []map[string]any) bool { return len(l) == 2 && l[0]["app"] == "lease-dedup" }, "lag", "--app", "lease-dedup")
	expect(t, env, 64, "did you mean lease-dedup?", "lag", "--app", "lease-dedupe")
	expect(t, env, 64, "the groups are: ", "lag", "--group", "nosuch")
}

// testLeaseOnly: a process without the spend counter serves state and savepoints of its
// applications, and its errors have where others run.
func testLeaseOnly(t *testing.T, at []string) {
	for _, app := range []string{"lease-bridge", "lease-liberator", "lease-dedup", "lease-balancer"} {
		expect(t, at, 0, `"partitions"`, "state", "hash", "--app", app, "-o", "json")
		expect(t, at, 0, `"app": "`+app+`"`, "savepoint", "create", "monday", "--app", app, "-o", "json")
	}
	expect(t, at, 0, `{"begun_ms":`, "state", "scan", "--app", "lease-bridge", "--table", "streams", "--limit", "1")
	expect(t, at, 0, `"fired_ms":"`, "state", "scan", "--app", "lease-balancer", "--table", "task")
	expect(t, at, 64, "set app to one of lease-bridge, lease-liberator, lease-dedup, lease-balancer", "state", "scan", "--table", "pools")
	expect(t, at, 64, "has no table \"nosuch\"", "state", "scan", "--app", "lease-dedup", "--table", "nosuch")
	expect(t, at, 64, "did you mean lease-dedup?", "state", "hash", "--app", "dedup")
	expect(t, at, 64, "a process that runs it: first at 127.0.0.1:", "state", "hash", "--app", "spendcounter")
	expect(t, at, 1, ") does not count spend: send the request to a process that runs it", "spend", "show", "--campaign", "c")
	expect(t, at, 1, "monday exists already", "savepoint", "create", "monday", "--app", "lease-dedup")
}

// testDoctor: the partitions of each role are checked, executors through processes of other roles.
func testDoctor(t *testing.T, env []string) {
	r := weir(t, env, "doctor", "--for", "spend,leases", "-o", "json")
	var checks []struct{ Name, Detail string }
	if err := json.Unmarshal([]byte(r.Stdout), &checks); err != nil {
		t.Fatalf("%v: %+v", err, r)
	}
	for _, app := range []string{"spendcounter", "pacing", "lease-bridge", "lease-liberator", "lease-dedup", "lease-balancer", "lease-executor.eu", "lease-executor.us"} {
		ok := slices.ContainsFunc(checks, func(c struct{ Name, Detail string }) bool {
			return c.Name == "partitions of "+app && regexp.MustCompile(`^all [1-9]\d* are running`).MatchString(c.Detail)
		})
		if !ok {
			t.Errorf("no check of the partitions of %s in %v", app, checks)
		}
	}
}

// words counts words and refuses numbers.
func words() stream.Processor {
	counts := state.NewTable(1, state.String{}, state.Uint64{})
	return stream.Processor{
		App: "words", Inputs: []string{"words-in"}, Tables: []stream.TableInfo{counts.Describe("counts")},
		New: stream.EachRecord(func(c *stream.Context, r *stream.Record) error {
			if len(r.Key) == 0 {
				return stream.Rejectf("no_word", "the key is the word")
			}
			n, _, err := counts.Get(c, string(r.Key))
			counts.Put(c, string(r.Key), n+1)
			return err
		}),
	}
}

// testOwnProgram gives the commands of a program that no configuration knows.
func testOwnProgram(t *testing.T, env []string, broker string) {
	k := kafka.Cluster{Brokers: []string{broker}}
	program, err := program.New(program.Config{
		Listen: "127.0.0.1:0", Runtime: processors.Config{Kafka: k, Dir: t.TempDir(), Instance: "own", Workers: 1},
		Topics: kafkaadmin.TopicOptions{Partitions: 2, Retention: time.Hour},
	}, words())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- program.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	select {
	case <-program.Server().Ready():
	case err := <-ended:
		ended <- errors.New("it has ended")
		t.Fatal(err)
	}
	producer, err := kafka.NewProducer(k, "words-in")
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	for _, word := range []string{"to", "be", "to", ""} {
		if err := producer.Produce(t.Context(), 1, []byte(word), []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := producer.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows(t, env, func(l []map[string]any) bool {
		return len(l) == 2 && l[0]["app"] == "words" && l[1]["committed"].(float64) >= 4 && l[1]["lag"] == 0.0 && l[1]["task"] == "running" && l[1]["process"] == "own"
	}, "lag", "--group", "words")
	expect(t, env, 64, "did you mean words?", "lag", "--group", "word")
	letters := rows(t, env, func(l []map[string]any) bool { return len(l) == 1 && l[0]["reason"] == "no_word" }, "dlq", "list", "--group", "words")
	origin := letters[0]["origin"].(string)
	expect(t, env, 0, "the key is the word", "dlq", "show", origin, "--group", "words")
	expect(t, env, 0, `"done": 1`, "dlq", "replay", origin, "--group", "words", "--yes", "-o", "json")
	rows(t, env, func(l []map[string]any) bool { return len(l) == 1 && l[0]["origin"] != origin }, "dlq", "list", "--group", "words")
	expect(t, env, 0, `"done": 1`, "dlq", "drop", "--all", "--why", "test", "--group", "words", "--yes", "-o", "json")

	own := append(slices.Clone(env), "WEIR_SERVER="+program.Server().Addr())
	expect(t, own, 0, `"key":"to","key_hex":"746f","value_base64":"AAAAAAAAAAI=","value":2`, "state", "scan", "--table", "counts", "-o", "json")
	expect(t, own, 0, `"value":1`, "state", "get", "be", "--table", "counts", "--partition", "1", "--app", "words", "-o", "json")
	expect(t, own, 64, "(applications: words): send the request to a process that runs it: first at", "state", "hash", "--app", "spendcounter")
	expect(t, own, 0, `"app": "words"`, "savepoint", "create", "monday", "-o", "json")
	for path, want := range map[string]string{"/readyz": `"ready":true`, "/metrics": `weir_processor_records_total{app="words"`} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+program.Server().OpsAddr()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err = errors.Join(err, res.Body.Close()); err != nil || !strings.Contains(string(body), want) {
			t.Errorf("%s: %v, no %s in %s", path, err, want, body)
		}
	}
}

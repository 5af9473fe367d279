package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/devbroker"
)

// jobServers starts a broker and two processes with job queues, and returns the settings of their
// APIs, and of the broker.
func jobServers(t *testing.T) (first, second, brokers []string) {
	t.Helper()
	dir := t.TempDir()
	env := []string{"WEIR_JOBS_PARTITIONS=4"}
	cfg, err := config.Load(config.Options{Environ: env})
	if err != nil {
		t.Fatal(err)
	}
	b, err := devbroker.Start(devbroker.Config{Topics: node.Topics(cfg, node.InGroups("jobs"))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	env = append(env, "WEIR_KAFKA_BROKERS="+b.Addrs()[0])
	start := func(name string) []string {
		return []string{
			server(t, append(env, "WEIR_INSTANCE="+name, "WEIR_DATA_DIR="+filepath.Join(dir, name)), "jobs"),
			"WEIR_DATA_DIR=" + filepath.Join(dir, "command"),
		}
	}
	return start("a"), start("b"), append(env, "WEIR_DATA_DIR="+filepath.Join(dir, "command"))
}

// field returns a field of the only row of a command.
func field(t *testing.T, environ []string, name string, args ...string) string {
	t.Helper()
	list := rows(t, environ, func(list []map[string]any) bool { return len(list) == 1 }, args...)
	text, _ := list[0][name].(string)
	return text
}

// TestJobs: jobs of a queue are submitted, run, reported, listed and changed, whatever process gets
// the requests.
func TestJobs(t *testing.T) {
	if testing.Short() {
		t.Skip("starts two processes and a broker")
	}
	a, b, brokers := jobServers(t)
	rows(t, a, func(list []map[string]any) bool { // each process owns partitions, and no more of them move
		of := map[any]int{}
		for _, row := range list {
			if row["task"] == "running" {
				of[row["process"]]++
			}
		}
		return of["a"] == 2 && of["b"] == 2
	}, "lag")
	eventually(t, a, "there is no queue yet", "queue", "list")
	expect(t, a, cli.ExitFailed, `there is no queue "images"`, "job", "submit", "images")
	expect(t, a, 0, "queue images is created", "queue", "set", "images", "--lease", "30s", "--attempts", "2", "--avoid", "-1s", "--events")
	expect(t, b, cli.ExitUsage, "a queue of -1 partitions", "queue", "set", "images", "--partitions", "-1")
	expect(t, b, 0, "", "queue", "set", "images", "--partitions", "2", "--backoff", "10ms")
	expect(t, a, cli.ExitFailed, "it cannot shrink", "queue", "set", "images", "--partitions", "1")
	rows(t, b, func(list []map[string]any) bool {
		return len(list) == 1 && list[0]["partitions"] == 2.0 && list[0]["version"] == 2.0 && list[0]["pending"] == 0.0
	}, "queue", "list", "images")

	gpu := field(t, a, "job", "job", "submit", "images", "--require", "gpu", "--payload", "hello", "--group", "g")
	if !regexp.MustCompile(`^\d-\d+$`).MatchString(gpu) {
		t.Fatalf("the id of a job is %q", gpu)
	}
	eventually(t, b, `"state": "pending"`, "job", "show", "images", gpu, "-o", "json")
	expect(t, b, 0, "there is no job for the agent now", "job", "poll", "images", "--agent", "cpu-1", "--has", "cpu", "--wait", "1ms")
	expect(t, a, 0, "pending: 0 of 1 agents fit: 1 lack gpu", "job", "why", "images", gpu)
	attempt := field(t, b, "job", "job", "poll", "images", "--agent", "gpu-1", "--has", "gpu", "--wait", "20s")
	if attempt != gpu {
		t.Fatalf("the agent got %q", attempt)
	}
	expect(t, a, cli.ExitFailed, "the attempt is over", "job", "report", "images", gpu, "1", "--agent", "other")
	expect(t, a, 0, "ok", "job", "report", "images", gpu, "1", "--agent", "gpu-1", "--error", "out of memory")
	again := rows(t, b, func(list []map[string]any) bool { return len(list) == 1 }, "job", "poll", "images", "--agent", "gpu-1", "--has", "gpu", "--wait", "20s")
	if again[0]["job"] != gpu || again[0]["attempt"] != 2.0 || again[0]["payload"] != "hello" {
		t.Errorf("the second attempt is %v", again)
	}
	for range 2 {
		expect(t, b, 0, "ok", "job", "report", "images", gpu, "2", "--agent", "gpu-1", "--result", "done")
	}
	expect(t, a, 0, `"result": "done"`, "job", "show", "images", gpu, "-o", "json", "--wait", "1m")
	expect(t, b, cli.ExitFailed, "1 of 2 have another state", "job", "show", "images", gpu, gpu[:2]+"99999", "--wait", "10ms")
	past := rows(t, brokers, func(list []map[string]any) bool { return len(list) > 5 }, "queue", "events", "images", "--job", gpu)
	var kinds []string
	for _, e := range past {
		kinds = append(kinds, fmt.Sprint(e["event"], " ", e["attempt"], " ", e["agent"], " ", e["error"], e["result"]))
	}
	if want := []string{
		"submitted 0  ", "started 1 gpu-1 ", "retrying 1 gpu-1 out of memory", "due 0  ", "started 2 gpu-1 ", "done 2 gpu-1 done",
	}; !slices.Equal(kinds, want) {
		t.Errorf("the events of the job: %q, want %q", kinds, want)
	}
	expect(t, brokers, cli.ExitUsage, "-o json has an end, and --watch has none", "queue", "events", "images", "--watch", "-o", "json")
	expect(t, brokers, 0, "queue other has no events", "queue", "events", "other")
	rows(t, brokers, func(list []map[string]any) bool { return len(list) == 2 && list[1]["event"] == "done" }, "queue", "events", "images", "--job", gpu, "--limit", "2")
	expect(t, brokers, 0, "--limit shows more than the newest 1", "queue", "events", "images", "--limit", "1")
	expect(t, a, cli.ExitFailed, "aborted", "job", "report", "images", gpu, "1", "--agent", "gpu-1", "--result", "late")
	expect(t, a, cli.ExitFailed, "the state of the job does not permit this", "job", "cancel", "images", gpu)

	file := filepath.Join(t.TempDir(), "jobs.jsonl")
	if err := os.WriteFile(file, []byte(strings.Repeat(`{"require":["tpu"],"group":"night"}`+"\n", 30)), 0o600); err != nil {
		t.Fatal(err)
	}
	rows(t, a, func(list []map[string]any) bool { return len(list) == 30 }, "job", "submit", "images", "--file", file)
	counted := func(want float64, args ...string) {
		t.Helper()
		rows(t, b, func(list []map[string]any) bool { return len(list) == 1 && list[0]["jobs"] == want }, append([]string{"job", "list", "images", "--count"}, args...)...)
	}
	counted(30, "--state", "pending", "--group", "night", "--resource", "tpu")
	seen := map[string]bool{}
	page := []string{}
	for range 7 {
		r := weir(t, b, append([]string{"job", "list", "images", "--state", "pending", "--limit", "7", "-o", "csv"}, page...)...)
		for _, id := range regexp.MustCompile(`(?m)^\d-\d+`).FindAllString(r.Stdout, -1) {
			if seen[id] {
				t.Errorf("job %s is on two pages", id)
			}
			seen[id] = true
		}
		_, token, more := strings.Cut(r.Stderr, "--page ")
		if !more {
			break
		}
		page = []string{"--page", strings.TrimSpace(token)}
	}
	if len(seen) != 30 {
		t.Errorf("%d jobs on all pages", len(seen))
	}
	expect(t, a, 0, `"selected": 30,`, "job", "cancel", "images", "--group", "night", "--dry-run", "-o", "json")
	expect(t, a, 0, `"changed": 30,`, "job", "cancel", "images", "--group", "night", "-o", "json")
	counted(0, "--state", "pending")
	counted(30, "--state", "canceled")
	rows(t, b, func(list []map[string]any) bool {
		return len(list) == 2 && list[0]["require"] == "gpu" && list[0]["done_per_s"] != 0.0 && list[1]["require"] == "tpu" && list[1]["agents"] == 0.0
	}, "queue", "signals", "images")
	expect(t, a, 0, "queue images has no alarm", "queue", "alarms", "images")
	expect(t, a, cli.ExitFailed, `there is no queue "none"`, "queue", "signals", "none")
	expect(t, b, 0, "true", "queue", "pause", "images")
	expect(t, a, 0, `"changed": 30,`, "job", "redo", "images", "--state", "canceled", "-o", "json")
	expect(t, a, 0, "there is no job for the agent now", "job", "poll", "images", "--agent", "tpu-1", "--has", "tpu", "--wait", "100ms")
	expect(t, b, 0, "false", "queue", "resume", "images")
	rows(t, b, func(list []map[string]any) bool { return len(list) > 0 }, "job", "poll", "images", "--agent", "tpu-1", "--has", "tpu", "--wait", "20s", "--max", "40")
	alarms := webhook(t, brokers, "queue")
	field(t, a, "job", "job", "submit", "images", "--require", "fpga")
	const text = "1 jobs that require fpga wait, and no agent that is up has these resources"
	if m := alarms.next(t); m["kind"] != "unserved" || m["queue"] != "images" || !strings.HasPrefix(fmt.Sprint(m["text"]), text) || m["active"] != true {
		t.Errorf("the webhook got %v", m)
	}
	expect(t, b, 0, text, "queue", "alarms", "images")
	expect(t, brokers, 0, text, "queue", "alarms", "images", "--since", "1h")
	expect(t, brokers, 0, "", "queue", "alarms", "other", "--since", "1h")
	expect(t, brokers, cli.ExitUsage, "--since -1s is out of range", "queue", "alarms", "images", "--since", "-1s")

	t.Run("events", func(t *testing.T) { testWatchEvents(t, a, brokers) })
	t.Run("python", func(t *testing.T) { testPythonWorker(t, a) })
	for text, args := range map[string][]string{
		`"x" is not the id of a job`:          {"job", "show", "images", "x"},
		"the job queues have 4 partitions":    {"job", "show", "images", "9-1"},
		`"Images" is not the name of a queue`: {"job", "why", "Images", "0-1"},
		`state "late" is not known`:           {"job", "list", "images", "--state", "late"},
		`policy "best" is not known`:          {"job", "poll", "images", "--agent", "x", "--policy", "best"},
		"priority 16":                         {"job", "submit", "images", "--priority", "16"},
		"the payload has 5000 bytes":          {"job", "submit", "images", "--payload", strings.Repeat("x", 5000)},
		"name their ids, or select them":      {"job", "cancel", "images"},
	} {
		if r := weir(t, a, args...); r.Code == 0 || !strings.Contains(r.Stderr, text) {
			t.Errorf("weir %q: code %d, %s", args, r.Code, r.Stderr)
		}
	}
}

// testPythonWorker runs the worker of docs/jobs.md.
func testPythonWorker(t *testing.T, environ []string) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3: ", err)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "jobs.md"))
	if err != nil {
		t.Fatal(err)
	}
	expect(t, environ, 0, "", "queue", "set", "python", "--lease", "2s")
	ids := []string{
		field(t, environ, "job", "job", "submit", "python", "--require", "cpu", "--payload", "one"),
		field(t, environ, "job", "job", "submit", "python", "--payload", "two"),
	}
	url := "http://" + strings.TrimPrefix(environ[0], "WEIR_SERVER=")
	worker := exec.CommandContext(t.Context(), python, "worker.py", url, "python", "python-1")
	worker.Dir, worker.Stdout, worker.Stderr = snippet(t, page, "python", "worker.py"), t.Output(), t.Output()
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = worker.Process.Kill()
		_ = worker.Wait()
	}()
	for i, want := range []string{`"result": "ONE"`, `"result": "TWO"`} {
		eventually(t, environ, want, "job", "show", "python", ids[i], "-o", "json")
	}
	expect(t, environ, 0, `"agent": "python-1"`, "job", "show", "python", ids[0], "-o", "json")
}

// testWatchEvents: weir queue events --watch shows what happens from then on.
func testWatchEvents(t *testing.T, a, brokers []string) {
	t.Helper()
	expect(t, a, 0, "queue watched is created", "queue", "set", "watched", "--events")
	ctx, stop := context.WithCancel(t.Context())
	var submits sync.WaitGroup
	submits.Go(func() {
		for ctx.Err() == nil {
			weir(t, a, "job", "submit", "watched", "--require", "gpu") //nolint:contextcheck // as all commands of the tests
		}
	})
	line := background(t, brokers, `{"at":`, "queue", "events", "watched", "--watch", "-o", "jsonl")
	stop()
	submits.Wait()
	if !strings.Contains(line, `"event":"submitted"`) || !strings.Contains(line, `"require":["gpu"]`) {
		t.Errorf("the first event is %s", line)
	}
}

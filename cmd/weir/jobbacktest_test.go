package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
)

// traceFile writes a compressed trace of four jobs, which two agents run as in the example of
// package backtest.
func traceFile(t *testing.T, more string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	text := `{"at_ms":0,"run_ms":10000,"prefer":["model:x"],"require":["gpu"]}
{"at_ms":40000,"run_ms":10000,"prefer":["model:x"],"require":["gpu"]}
{"at_ms":41000,"run_ms":10000,"prefer":["model:y"]}
{"at_ms":42000,"run_ms":10000,"prefer":["model:x"],"require":["gpu"]}
` + more
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "jobs.jsonl.gz")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestJobBacktest: weir job backtest prints a row for each policy, and draws a picture. What it
// leaves out of a file is noted.
func TestJobBacktest(t *testing.T) {
	name, svg := traceFile(t, ""), filepath.Join(t.TempDir(), "waits.svg")
	always := func([]map[string]any) bool { return true }
	list := rows(t, nil, always, "job", "backtest", name, "--agents", "2", "--policy", "greedy,delay:15s", "--max-wait", "20s", "--picture", svg)
	if len(list) != 2 {
		t.Fatalf("%v", list)
	}
	for i, want := range []map[string]any{
		{
			"policy": "greedy", "agents": 2.0, "jobs": 4.0, "hit_percent": 25.0, "wait_mean_s": 7.0, "wait_p50_s": 0.0, "wait_p95_s": 28.0, "wait_p99_s": 28.0,
			"wait_max_s": 28.0, "late": 1.0, "utilisation_percent": 62.5, "makespan_s": 80.0, "loading_percent": 37.5,
			"longest_wait_of": "requires gpu, prefers model:x",
		},
		{
			"policy": "delay:15s", "agents": 2.0, "jobs": 4.0, "hit_percent": 50.0, "wait_mean_s": 2.0, "wait_p50_s": 0.0, "wait_p95_s": 8.0, "wait_p99_s": 8.0,
			"wait_max_s": 8.0, "late": 0.0, "utilisation_percent": 56.34, "makespan_s": 71.0, "loading_percent": 28.17,
			"longest_wait_of": "requires gpu, prefers model:x",
		},
	} {
		for field, value := range want {
			if list[i][field] != value {
				t.Errorf("row %d: %s is %v, want %v", i, field, list[i][field], value)
			}
		}
		if len(list[i]) != len(want) {
			t.Errorf("row %d: %v", i, list[i])
		}
	}
	if picture, err := os.ReadFile(svg); err != nil || !strings.Contains(string(picture), ">delay:15s: 50.0 % hits, mean wait 2.00 s<") {
		t.Errorf("%v: %.300s", err, picture)
	}
	expect(t, nil, 0, "\nfifo,3,4,50,", "job", "backtest", name, "--agent-profile", "1:gpu", "--agent-profile", "2:", "-o", "csv", "--policy", "fifo")
	expect(t, nil, 0, "4 jobs of 2 kinds arrive within 42s; agents: 4; slots of an agent: 1;", "job", "backtest", name)
	expect(t, nil, 0, "arrive within 21s; agents: 4; ", "job", "backtest", name, "--speed", "2", "--run-scale", "0.001")
	list = rows(t, nil, always, "job", "backtest", name, "--size", "20s", "--policy", "greedy,delay:30s", "--load", "0s", "--slots", "2")
	if len(list) != 2 || list[0]["agents"] != 1.0 || list[1]["agents"] != 1.0 {
		t.Errorf("%v", list)
	}
	expect(t, nil, 0, "delay:1m0s: no number of agents up to 4 keeps the 95th percentile of waits at 1s; the row is that of 4 agents",
		"job", "backtest", name, "--size", "1s", "--policy", "delay:1m")
	odd := traceFile(t, `{"at_ms":3,"run_ms":1}`+"\n"+`{"at_ms":1}`+"\n")
	for _, want := range []string{
		"1 of 6 lines are not jobs, and are left out: line 6: at_ms or run_ms is missing", "not in the order of their arrivals: they were sorted",
		"5 jobs of 3 kinds",
	} {
		expect(t, nil, 0, want, "job", "backtest", odd)
	}
	expect(t, nil, 0, "the file has more jobs than --limit: its first 3 are used", "job", "backtest", name, "--limit", "3")
}

// TestJobBacktestRefuses: files and flags that give no simulation.
func TestJobBacktestRefuses(t *testing.T) {
	name := traceFile(t, "")
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("; nothing\n1 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, nil, cli.ExitData, "no usable trace: of 2 lines none is a job; line 2: 2 columns", "job", "backtest", empty)
	expect(t, nil, cli.ExitData, "no usable trace: 0 lines", "job", "backtest", "-")
	expect(t, nil, cli.ExitIO, "cannot open the trace", "job", "backtest", empty+"2")
	expect(t, nil, cli.ExitIO, "cannot write the picture", "job", "backtest", name, "--picture", filepath.Join(empty, "x.svg"))
	for line, want := range map[string]string{
		"--policy wait":    `policy "wait": use fifo, greedy`,
		"--policy delay:5": `such as delay:5s`,
		"--policy fifo" + strings.Repeat(",fifo", 12): "13 policies",
		"--agents -1":           "not above 0",
		"--agents 10001":        "10001 agents",
		"--slots 0":             "not above 0",
		"--associations 1001":   "an agent keeps 1001 resources",
		"--load -1s":            "loading takes -1s",
		"--max-wait 1us":        "a longest wait of 1µs",
		"--speed 0":             "are not above 0",
		"--limit 0":             "--limit 0 is out of range",
		"--resource node":       `"node" is not a column: use one of site,`,
		"--agent-profile gpu":   `--agent-profile "gpu" is not a number of agents`,
		"--agent-profile 3:cpu": "jobs require gpu, and no agent has that",
		"--agents 3 --size 1s":  "agents",
		"--size -1s":            "not above 0",
	} {
		expect(t, nil, cli.ExitUsage, want, append([]string{"job", "backtest", name}, strings.Fields(line)...)...)
	}
}

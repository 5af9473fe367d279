package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testlimit"
)

// longSession is a session timeout that is longer than a step of a test may take. A test with it
// hangs if a takeover waits for the session timeout.
const longSession = "processor: {session_timeout: 30m}"

// instance is the environment of a process: a name, a data directory, a configuration, a log. It
// runs one process at a time.
type instance struct {
	t         *testing.T
	name      string
	config    string
	log       string
	roles     string // empty for the default of weir run
	env       []string
	processes int
}

// newInstance creates an instance. settings are lines of YAML in addition to the common settings.
func newInstance(c *cluster, name string, settings ...string) *instance {
	c.t.Helper()
	dir := c.t.TempDir()
	name = strings.ToLower(filepath.Base(c.t.Name())) + "-" + name // transactional ids stay on the brokers from test to test
	i := &instance{t: c.t, name: name, config: filepath.Join(dir, "weir.yaml"), log: filepath.Join(dir, "log")}
	lines := append([]string{
		"data_dir: " + filepath.Join(dir, "data"), "instance: " + name,
		"log: {format: json}",
	}, settings...)
	for _, line := range []string{"kafka: {brokers: [" + strings.Join(c.addrs(), ", ") + "]}", `api: {listen: "127.0.0.1:0", ops_listen: "127.0.0.1:0"}`} {
		section, _, _ := strings.Cut(line, " ")
		if !slices.ContainsFunc(settings, func(s string) bool { return strings.HasPrefix(s, section) }) {
			lines = append(lines, line)
		}
	}
	if err := os.WriteFile(i.config, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		if c.t.Failed() {
			c.t.Logf("log of %s:\n%s", name, tail(i.log, 150))
		}
	})
	return i
}

// process is one run of an instance.
type process struct {
	*instance
	cmd   *exec.Cmd
	from  int64 // offset in the log at which its output begins
	ended chan struct{}
}

// start runs `weir run`.
func (i *instance) start() *process {
	i.t.Helper()
	log, err := os.OpenFile(i.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		i.t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	info, err := log.Stat()
	if err != nil {
		i.t.Fatal(err)
	}
	p := &process{instance: i, from: info.Size(), ended: make(chan struct{})}
	p.cmd = exec.Command(os.Getenv(envBinary), "run", "-f", i.config)
	if i.roles != "" {
		p.cmd.Args = append(p.cmd.Args, "--roles", i.roles)
	}
	p.cmd.Env = append(environ(), i.env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		i.t.Fatal(err)
	}
	i.processes++
	go func() {
		_ = p.cmd.Wait() // ProcessState has the result
		close(p.ended)
	}()
	i.t.Cleanup(func() {
		if i.t.Failed() {
			p.dump()
		}
		_ = p.cmd.Process.Kill() // a stopped process, too; an error means that it has exited
		<-p.ended
	})
	return p
}

// dump ends the process with a stack trace of its goroutines, for a failed test.
func (p *process) dump() {
	from, err := os.Stat(p.log)
	if err != nil || p.cmd.Process.Signal(syscall.SIGQUIT) != nil {
		return
	}
	timer := time.NewTimer(5 * time.Second)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
		return
	}
	b, err := os.ReadFile(p.log)
	if err != nil {
		return
	}
	p.t.Logf("goroutines of %s:\n%s", p.name, b[from.Size():])
	_ = os.Truncate(p.log, from.Size()) // the stack trace was logged above
}

// environ returns the environment without settings of weir.
func environ() []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "WEIR_") {
			env = append(env, kv)
		}
	}
	return env
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("%s to %s: %v\n%s", s, p.name, err, p.output())
	}
}

// kill sends SIGKILL and waits for the exit.
func (p *process) kill() {
	p.t.Helper()
	p.signal(syscall.SIGKILL)
	<-p.ended
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		p.t.Fatalf("%s exited by itself: %s\n%s", p.name, p.cmd.ProcessState, p.output())
	}
}

// alive fails the test if the process has ended.
func (p *process) alive() {
	p.t.Helper()
	select {
	case <-p.ended:
		p.t.Fatalf("%s ended: %s\n%s", p.name, p.cmd.ProcessState, p.output())
	default:
	}
}

// exit waits for the exit and returns the exit code.
func (p *process) exit() int {
	p.t.Helper()
	timer := time.NewTimer(testlimit.Limit)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
		p.t.Fatalf("%s still runs after %s\n%s", p.name, testlimit.Limit, p.output())
	}
	return p.cmd.ProcessState.ExitCode()
}

// output returns the output of this process so far.
func (p *process) output() string {
	b, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(b[min(p.from, int64(len(b))):])
}

// ready waits until every assigned partition is running. It returns the addresses of the API and
// the metrics.
func (p *process) ready() (addr, ops string) {
	p.t.Helper()
	testlimit.Within(p.t, p.name+" ready", func(context.Context) (err error) {
		p.alive()
		addr, ops, err = p.addresses()
		return err
	})
	return addr, ops
}

// addresses returns the addresses of the API and the metrics, or an error if the process has not
// been ready yet.
func (p *process) addresses() (addr, ops string, err error) {
	line := regexp.MustCompile(`(?m)^ready: API https?://(\S+), metrics https?://(\S+)/metrics`)
	found := line.FindStringSubmatch(p.output())
	if found == nil {
		return "", "", errors.New("no line with ready")
	}
	return found[1], found[2], nil
}

// running returns the number of partitions that the process runs. addr is the address of its API.
func (p *process) running(ctx context.Context, addr string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	client := api.NewClient("http://" + addr)
	defer client.Close()
	res, err := client.ListPartitions(ctx)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, part := range res.Partitions {
		if part.State == "running" && part.Instance == p.name { // the API lists the partitions of all processes
			n++
		}
	}
	return n, nil
}

// folds waits until the process runs exactly n partitions.
func (p *process) folds(addr string, n int) time.Duration {
	p.t.Helper()
	return testlimit.Within(p.t, fmt.Sprintf("%s runs %d partitions", p.name, n), func(ctx context.Context) error {
		p.alive()
		got, err := p.running(ctx, addr)
		if err == nil && got != n {
			err = fmt.Errorf("it runs %d", got)
		}
		return err
	})
}

// metric returns a counter of the process, summed over its labels.
func (p *process) metric(ops, name string) float64 {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, "http://"+ops+"/metrics", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var page bytes.Buffer
	if _, err := page.ReadFrom(res.Body); err != nil {
		p.t.Fatal(err)
	}
	sum, found := 0.0, false
	for line := range strings.Lines(page.String()) {
		var v float64
		if rest, ok := strings.CutPrefix(line, name); ok && (rest[0] == '{' || rest[0] == ' ') {
			if _, err := fmt.Sscan(rest[strings.LastIndexByte(rest, ' '):], &v); err != nil {
				p.t.Fatalf("%q: %v", line, err)
			}
			sum, found = sum+v, true
		}
	}
	if !found {
		p.t.Fatalf("no metric %s in\n%s", name, page.String())
	}
	return sum
}

// result is the result of a command.
type result struct {
	code           int
	stdout, stderr string
}

// weir runs a command in a new directory and waits for its exit.
func weir(t *testing.T, args ...string) result {
	t.Helper()
	return weirIn(t, nil, args...)
}

// weirIn is weir with more variables of the environment.
func weirIn(t *testing.T, env []string, args ...string) result {
	t.Helper()
	ctx := testlimit.Context(t)
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, os.Getenv(envBinary), args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = t.TempDir(), append(environ(), env...), &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("weir %s: %v", strings.Join(args, " "), err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// answer runs a command that must succeed, and decodes its JSON output into v.
func answer(t *testing.T, v any, args ...string) {
	t.Helper()
	r := weir(t, append(args, "-o", "json")...)
	if r.code != 0 {
		t.Fatalf("weir %s: code %d\n%s", strings.Join(args, " "), r.code, r.stderr)
	}
	if err := json.Unmarshal([]byte(r.stdout), v); err != nil {
		t.Fatalf("weir %s: %v in\n%s", strings.Join(args, " "), err, r.stdout)
	}
}

// spend is the output of `weir spend show`.
type spend struct {
	Campaign    string `json:"campaign"`
	Account     string `json:"account"`
	Currency    string `json:"currency"`
	Charged     int64  `json:"charged_micros"`
	Refunded    int64  `json:"refunded_micros"`
	Impressions uint64 `json:"impressions"`
	Clicks      uint64 `json:"clicks"`
	Events      uint64 `json:"events"`
	Duplicates  uint64 `json:"duplicates"`
}

// tail returns the last lines of a file, for a failed test.
func tail(path string, lines int) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

package compose

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/weirhq/weir/internal/testlimit"
)

// project is the services of a file under a project name and ports of their own.
type project struct {
	t      *testing.T
	file   string
	env    []string
	groups *kadm.Client // at the broker's port on this machine
	began  time.Time    // event time of all events: what is older than the duplicate window is not compared
}

// TestCompose starts all services, kills one of the two processes, and checks that the other takes
// over all partitions.
func TestCompose(t *testing.T) {
	p := newProject(t, "compose.yaml")
	p.must("up", "-d", "--wait", "--wait-timeout", "180")

	p.counts("weir-b", "e1", 1)
	p.leases("before")
	p.within("both have partitions of each application", func() error { return p.shared("weir-a", "weir-b") })
	began := time.Now()
	p.must("kill", "-s", "KILL", "weir-b")
	p.within("weir-a folds every partition", func() error {
		rows := []struct{ Process, Task string }{}
		if err := p.ask(&rows, "weir-a", "lag", "--app", "spendcounter"); err != nil {
			return err
		}
		for _, r := range rows {
			if r.Process != "weir-a" || r.Task != "running" {
				return fmt.Errorf("%+v", rows)
			}
		}
		if len(rows) == 0 {
			return errors.New("lag names no partition")
		}
		return nil
	})
	t.Logf("weir-a folds every partition of the spend counter %v after weir-b was killed", time.Since(began).Round(time.Millisecond))
	p.within("weir-a has all partitions of each application", func() error { return p.shared("weir-a") })
	p.counts("weir-a", "e2", 2)
	p.counts("weir-a", "e1", 2) // again: a duplicate
	p.leases("after")
	p.within("weir-a is ready", func() error { _, err := p.run("weir-a", "ready"); return err })
	p.sane("weir-a", "kafka", "dynamodb")
}

// newProject builds the image. After the test it removes containers, volumes and the image.
func newProject(t *testing.T, file string) *project {
	t.Helper()
	if testing.Short() {
		t.Skip("needs containers, which -short leaves out")
	}
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.Limit)
	defer cancel()
	for _, args := range [][]string{{"info"}, {"compose", "version"}} {
		if err := exec.CommandContext(ctx, "docker", args...).Run(); err != nil {
			t.Skipf("`docker %s` does not answer (%v): start an engine and install docker compose to run this test", strings.Join(args, " "), err)
		}
	}
	name := fmt.Sprintf("weir-test-%d", os.Getpid())
	image := name + ":test"
	if out, err := exec.CommandContext(t.Context(), "make", "-C", "..", "image", "IMAGE="+image, "IMAGEDIR="+t.TempDir()).CombinedOutput(); err != nil {
		t.Fatalf("make image: %v\n%s", err, out)
	}
	p := &project{t: t, file: file, began: time.Now(), env: append(os.Environ(), "COMPOSE_PROJECT_NAME="+name, "WEIR_IMAGE="+image, "FAULT=")}
	kafka := ports(t, "KAFKA_PORT")
	p.env = append(p.env, "KAFKA_PORT="+kafka, "DYNAMODB_PORTS="+ports(t, "DYNAMODB_PORTS"))
	// The second compiler of Java takes more time than it saves in a minute.
	p.env = append(p.env, "KAFKA_OPTS=-XX:TieredStopAtLevel=1")
	client, err := kadm.NewOptClient(kgo.SeedBrokers("127.0.0.1:" + kafka))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	p.groups = client
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if t.Failed() {
			out, err := p.compose(ctx, "logs", "--no-color", "--tail", "40")
			t.Logf("%s%v", out, err)
		}
		if out, err := p.compose(ctx, "down", "-v", "--timeout", "1"); err != nil {
			t.Errorf("containers are left: %v\n%s", err, out)
		}
		if out, err := exec.CommandContext(ctx, "docker", "rmi", image).CombinedOutput(); err != nil {
			t.Errorf("the image is left: %v\n%s", err, out)
		}
	})
	return p
}

// ports returns free ports: one, or three in a row for DynamoDB. Another program may take them
// first.
func ports(t *testing.T, variable string) string {
	t.Helper()
	for range 100 {
		first, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_ = first.Close()
		port := first.Addr().(*net.TCPAddr).Port
		if variable == "KAFKA_PORT" {
			return fmt.Sprint(port)
		}
		free := 0
		for i := range 3 {
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port+i))
			if err == nil {
				_ = l.Close()
				free++
			}
		}
		if free == 3 {
			return fmt.Sprintf("%d-%d", port, port+2)
		}
	}
	t.Fatal("no three free ports in a row")
	return ""
}

// compose runs docker compose.
func (p *project) compose(ctx context.Context, args ...string) (string, error) {
	return p.input(ctx, "", args...)
}

// input runs docker compose with text as its input. It returns the output; the error has the log.
func (p *project) input(ctx context.Context, text string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "docker", append([]string{"compose", "-f", p.file}, args...)...)
	var out, talk bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = p.env, strings.NewReader(text), &out, &talk
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("docker compose %s: %w\n%s", strings.Join(args, " "), err, talk.Bytes())
	}
	return out.String(), nil
}

func (p *project) must(args ...string) {
	p.t.Helper()
	began := time.Now()
	if _, err := p.compose(p.t.Context(), args...); err != nil {
		p.t.Fatal(err)
	}
	p.t.Logf("docker compose %s: %v", strings.Join(args, " "), time.Since(began).Round(time.Millisecond))
}

// run runs a command of weir in a service's container.
func (p *project) run(service string, args ...string) (string, error) {
	return p.compose(p.t.Context(), append([]string{"exec", "-T", service, "weir"}, args...)...)
}

// ask runs a command and decodes its JSON output into v.
func (p *project) ask(v any, service string, args ...string) error {
	out, err := p.run(service, append(args, "-o", "json")...)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(out), v)
}

// within repeats try until it returns nil.
func (p *project) within(what string, try func() error) {
	p.t.Helper()
	testlimit.Within(p.t, what, func(context.Context) error { return try() })
}

// shared returns an error unless exactly these processes have partitions of each application, as
// described by the broker.
func (p *project) shared(processes ...string) error {
	groups, err := p.groups.DescribeGroups(p.t.Context())
	if err == nil {
		err = groups.Error()
	}
	if err != nil {
		return err
	}
	applications := 0
	for _, group := range groups.Sorted() {
		var has []string
		for _, member := range group.Members {
			c, ok := member.Assigned.AsConsumer()
			if !ok || len(c.Topics) == 0 || member.InstanceID == nil {
				continue
			}
			for _, name := range []string{"weir-a", "weir-b"} {
				if strings.Contains(*member.InstanceID, name) && !slices.Contains(has, name) {
					has = append(has, name)
				}
			}
		}
		if len(has) == 0 {
			continue // `weir ingest` or `weir load`
		}
		if slices.Sort(has); !slices.Equal(has, processes) {
			return fmt.Errorf("%s is shared by %v", group.Group, has)
		}
		applications++
	}
	const want = 5 + 3 // spend counter, bridge, liberator, dedup, balancer; an executor for each region
	if applications != want {
		return fmt.Errorf("%d applications have members, want %d: %v", applications, want, groups.Names())
	}
	return nil
}

// ingest produces an event of campaign spring.
func (p *project) ingest(service, id string) {
	p.t.Helper()
	event := fmt.Sprintf(`{"event_id":%q,"account":"acme","campaign":"spring","type":"impression","price_micros":1234,"currency":"USD","event_ms":%d}`, id, p.began.UnixMilli())
	if _, err := p.input(p.t.Context(), event+"\n", "exec", "-T", service, "weir", "ingest", "-", "--format", "jsonl"); err != nil {
		p.t.Fatal(err)
	}
}

// counts produces an event of campaign spring, and compares the number of counted events with want.
func (p *project) counts(service, id string, want uint64) {
	p.t.Helper()
	p.ingest(service, id)
	var got struct {
		Charged int64 `json:"charged_micros"`
		Events  uint64
	}
	if err := p.ask(&got, service, "spend", "show", "--campaign", "spring", "--wait"); err != nil {
		p.t.Fatal(err)
	}
	if got.Events != want || got.Charged != int64(want)*1234 {
		p.t.Errorf("after event %s %s returned %+v, want %d events", id, service, got, want)
	}
}

// leases has a key lease a resource of the pool that load made, and another key lease one for two
// seconds. It waits until the second resource is free again, which needs bridge, liberator and
// executor.
func (p *project) leases(key string) {
	p.t.Helper()
	type lease struct{ Resource string }
	get := func(l *lease, key, length string) error {
		return p.ask(l, "weir-a", "lease", "get", "--client", "demo", "--pool", "demo", "--key", key, "--for", length)
	}
	var first, second, brief lease
	p.within("a lease of key "+key, func() error { return get(&first, key, "5m") })
	if err := get(&second, key, "5m"); err != nil || second.Resource != first.Resource {
		p.t.Errorf("key %s has %+v, and then %+v: %v", key, first, second, err)
	}
	began := time.Now()
	if err := get(&brief, key+"-brief", "2s"); err != nil {
		p.t.Fatal(err)
	}
	p.within(brief.Resource+" is free again", func() error {
		var rows []struct{ Key string }
		err := p.ask(&rows, "weir-a", "resource", "get", brief.Resource, "--client", "demo")
		if err == nil && (len(rows) != 1 || rows[0].Key == key+"-brief") {
			err = fmt.Errorf("%+v", rows)
		}
		return err
	})
	p.t.Logf("%s was free again %v after it was leased for two seconds", brief.Resource, time.Since(began).Round(time.Millisecond))
}

// sane checks that no container of some services was killed for its memory or restarted by itself.
func (p *project) sane(services ...string) {
	p.t.Helper()
	out, err := p.compose(p.t.Context(), append([]string{"ps", "-q"}, services...)...)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, id := range strings.Fields(out) {
		state, err := exec.CommandContext(p.t.Context(), "docker", "inspect", "-f", "{{.Name}} {{.State.OOMKilled}} {{.RestartCount}}", id).CombinedOutput()
		if err != nil || !strings.HasSuffix(strings.TrimSpace(string(state)), " false 0") {
			p.t.Errorf("killed for its memory, or started again: %s %v", state, err)
		}
	}
}

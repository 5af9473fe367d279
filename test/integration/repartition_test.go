package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/events/loadgen"
	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/stream"
)

// repartitioned is the output of `weir repartition`.
type repartitioned struct {
	From        string   `json:"from"`
	To          string   `json:"to"`
	Running     []string `json:"running"`
	Unread      int64    `json:"unread"`
	DeadLetters int      `json:"dead_letters"`
	Keys        int64    `json:"keys"`
	Written     int      `json:"written"`
}

// TestRepartition moves the counter from 24 partitions to 48 and then to 36, as the help of the
// command describes. The sums, duplicates included, are equal in the new topics, for readers of the
// published spend, too. Events that were sent before a move are duplicates after it, even for a
// process that has lost its disk. A move that was killed is repeated.
func TestRepartition(t *testing.T) {
	c := shared(t)
	l48, l36 := events.Layout{Shards: 48, Generation: 2}, events.Layout{Shards: 36, Generation: 3}
	c48, c36 := c.of(l48), c.of(l36)
	now := time.Now().UnixMilli()
	ledger, before := newLedger(), made(t, 30_000, now)
	first, later := before[:20_000], before[20_000:]

	old := newInstance(c, "a", "topics: {replication_factor: 1, min_insync: 1}")
	next, third := old.in(l48), old.in(l36)
	f := follow(c)
	p := old.start()
	c.send(ledger, first)
	c.send(ledger, first[:500])
	addr, _ := p.ready()
	f.check(c, ledger, 0)
	var campaigns []place
	for _, at := range ledger.places() {
		if len(campaigns) < 20 && at.account != later[0].Account {
			campaigns = append(campaigns, at)
		}
	}
	sums := shown(t, addr, campaigns)

	next.refused("the new topics are not ready", "`weir topics apply`")
	answer(t, &[]any{}, "topics", "apply", "-f", next.config)
	next.refused("these processes are running", old.name)
	early := next.start()
	if code := early.exit(); code != 78 || !strings.Contains(early.output(), "weir repartition") {
		t.Errorf("a start before the move: exit code %d\n%s", code, early.output())
	}
	// Senders switch one by one: the new topics hold some events already, and others still arrive
	// in the old ones.
	c48.send(ledger, first[500:600])
	p.stop()
	c.send(ledger, later[:1])
	next.refused("1 records in the topics of spendcounter are not counted", "`weir lag`")
	p = old.start()
	p.ready()
	f.caughtUp(c)
	p.stop()
	if plan := next.repartition(); plan.Written != 0 || plan.Keys != 0 || plan.From != "spendcounter" || plan.To != "spendcounter.g2" {
		t.Errorf("the plan: %+v", plan)
	}
	if n := c48.changelogs(t.Context()); n != 0 {
		t.Fatalf("a plan has written to %d partitions", n)
	}
	next.killedHalfWay(c48)
	early = next.start()
	if code := early.exit(); code != 78 || !strings.Contains(early.output(), "the move is not complete") || !strings.Contains(early.output(), "run `weir repartition` again") {
		t.Errorf("a start after a part of the move: exit code %d\n%s", code, early.output())
	}
	moved := next.repartitionRetried()
	if moved.Keys < int64(len(ledger.totals)) || moved.Written == 0 {
		t.Errorf("moved: %+v, for %d rows", moved, len(ledger.totals))
	}
	if again := next.repartition("--yes"); again.Written != 0 || again.Keys != moved.Keys {
		t.Errorf("second move: %+v, first move: %+v", again, moved)
	}

	f48 := follow(c48)
	q := next.start()
	addr, _ = q.ready()
	f48.check(c48, ledger, 0)
	for at, is := range shown(t, addr, campaigns) {
		was := sums[at]
		is.Duplicates, was.Duplicates = 0, 0 // some events were sent again in the meantime
		if is != was || is.Events == 0 {
			t.Errorf("%v: %+v, before the move %+v", at, is, was)
		}
	}
	c48.send(ledger, later[1:5_000])
	c48.send(ledger, before[:5_000])
	f48.check(c48, ledger, 0)
	next.checkIngest(addr, now, ledger, f48, c48)
	checkMisfit(c48, old.in(events.Layout{Generation: 2}))
	// Without its disk the process reads the earlier ids from the changelog.
	q.kill()
	next.wipe()
	q = next.start()
	addr, _ = q.ready()
	c48.send(ledger, before[5_000:10_000])
	f48.check(c48, ledger, 0)
	c.send(newLedger(), later[5_000:5_003]) // a sender that was not switched
	if r := weir(t, "doctor", "-f", next.config); r.code != 1 || !strings.Contains(r.stdout, "3 records of generation 1 are not counted") {
		t.Errorf("doctor: code %d\n%s", r.code, r.stdout)
	}
	next.refused("3 records in the topics of spendcounter are not counted")
	if r := weir(t, "replay", "-f", next.config, "--app", "again", "--server", addr); r.code != 1 || !strings.Contains(r.stderr, "state of another application") {
		t.Errorf("a replay of what was moved, from its beginning: code %d\n%s", r.code, r.stderr)
	}
	q.stop()

	// A move to a third number merges and splits shards while ids of the first layout are still
	// known.
	answer(t, &[]any{}, "topics", "apply", "-f", third.config)
	third.repartitionRetried()
	f36 := follow(c36)
	r := third.start()
	r.ready()
	c36.send(ledger, before[:15_000])
	c36.send(ledger, later[5_000:])
	f36.check(c36, ledger, 0)
	r.stop()
	if again := third.tryRepartition("--yes"); again.code != 1 || !strings.Contains(again.stderr, "the application has run") {
		t.Errorf("a move to topics in which the counter has run: code %d\n%s", again.code, again.stderr)
	}
	// The first topics are unchanged: they have rows, and none of later events.
	if rows, bad := f.totals(); len(rows) == 0 || len(bad) > 0 {
		t.Errorf("the first topics have %d rows, and %v", len(rows), bad)
	}
}

// made returns n events that are ingested about now, in Unix milliseconds. One in a hundred is a
// duplicate. Events of two calls differ.
//
// An event that is sent again is recognised only while no event was ingested two minutes after it.
// So all events of a test need one now, however long the test takes.
func made(t *testing.T, n int, now int64) []*eventspb.AdEvent {
	t.Helper()
	gen, err := loadgen.New(loadgen.Config{Seed: 21, StartMs: time.Now().UnixMilli(), DuplicateRate: 0.01, Flat: true})
	if err != nil {
		t.Fatal(err)
	}
	var list []*eventspb.AdEvent
	for range n {
		list = append(list, proto.CloneOf(gen.Next(now)))
	}
	return list
}

// send records events in the ledger and produces them to the partitions of the layout.
func (c *cluster) send(l *ledger, list []*eventspb.AdEvent) {
	c.t.Helper()
	cl := c.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer cl.Close()
	var records []*kgo.Record
	for _, e := range list {
		l.add(e)
		records = append(records, &kgo.Record{
			Topic: c.layout.Name(events.EventsTopic), Partition: events.Shard(e.Account, c.layout.Partitions()), Key: []byte(e.Account), Value: events.AppendEvent(nil, e),
		})
	}
	if err := cl.ProduceSync(c.t.Context(), records...).FirstErr(); err != nil {
		c.t.Fatal(err)
	}
}

// changelogs returns the number of changelog partitions that have rows.
func (c *cluster) changelogs(ctx context.Context) int {
	c.t.Helper()
	filled := map[int32]bool{}
	k := kafka.Cluster{Brokers: c.addrs()}
	if err := kafkaadmin.ReadTopic(ctx, k, c.layout.Name(events.SpendTopic("local")), time.Time{}, func(p int32, r stream.Record) error {
		if !changelogpb.IsSystem(r.Key) {
			filled[p] = true
		}
		return nil
	}); err != nil {
		c.t.Fatal(err)
	}
	return len(filled)
}

// shown returns the output of `weir spend show` for the places.
func shown(t *testing.T, addr string, list []place) map[place]spend {
	t.Helper()
	out := map[place]spend{}
	for _, at := range list {
		out[at] = shownSoon(t, "spend", "show", "--server", addr, "--campaign", at.campaign, "--account", at.account, "--currency", at.currency)
	}
	return out
}

// shownSoon repeats the command while a process that has just started assigns partitions to its
// workers.
func shownSoon(t *testing.T, args ...string) (s spend) {
	t.Helper()
	if err := testlimit.Poll(t.Context(), func(context.Context) error {
		r := weir(t, append(args, "-o", "json")...) //nolint:contextcheck // the command has its own context
		if r.code != 0 {
			return fmt.Errorf("weir %s: code %d\n%s", strings.Join(args, " "), r.code, r.stderr)
		}
		return json.Unmarshal([]byte(r.stdout), &s)
	}); err != nil {
		t.Fatal(err)
	}
	return s
}

// in returns the instance with the configuration of another layout.
func (i *instance) in(l events.Layout) *instance {
	i.t.Helper()
	text, err := os.ReadFile(i.config)
	if err != nil {
		i.t.Fatal(err)
	}
	other := *i
	other.config = filepath.Join(filepath.Dir(i.config), fmt.Sprintf("weir-%d-%d.yaml", l.Generation, l.Partitions()))
	text = fmt.Appendf(text, "spend: {partitions: %d, generation: %d}\n", l.Partitions(), l.Generation)
	if err := os.WriteFile(other.config, text, 0o600); err != nil {
		i.t.Fatal(err)
	}
	return &other
}

// wipe deletes the data directory.
func (i *instance) wipe() {
	i.t.Helper()
	if err := os.RemoveAll(filepath.Join(filepath.Dir(i.config), "data")); err != nil {
		i.t.Fatal(err)
	}
}

// stop stops the process with SIGTERM.
func (p *process) stop() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	if code := p.exit(); code != 0 {
		p.t.Fatalf("exit code %d\n%s", code, p.output())
	}
}

func (i *instance) tryRepartition(args ...string) result {
	i.t.Helper()
	return weir(i.t, append([]string{"repartition", "-f", i.config, "-o", "json"}, args...)...)
}

// refused checks that a move is refused now, with the reasons words.
func (i *instance) refused(words ...string) {
	i.t.Helper()
	for _, yes := range [][]string{nil, {"--yes"}} {
		r := i.tryRepartition(yes...)
		if r.code != 1 || r.stdout != "" {
			i.t.Errorf("weir repartition %v: code %d, stdout %s", yes, r.code, r.stdout)
		}
		for _, w := range append(words, "weir: ", "\n  why: ", "\n  do:  ") {
			if !strings.Contains(r.stderr, w) {
				i.t.Errorf("the output of weir repartition %v lacks %q:\n%s", yes, w, r.stderr)
			}
		}
	}
}

// repartition runs `weir repartition`, which must succeed.
func (i *instance) repartition(args ...string) (out repartitioned) {
	i.t.Helper()
	r := i.tryRepartition(args...)
	if r.code != 0 {
		i.t.Fatalf("weir repartition %v: code %d\n%s", args, r.code, r.stderr)
	}
	if err := json.Unmarshal([]byte(r.stdout), &out); err != nil {
		i.t.Fatalf("%v in\n%s", err, r.stdout)
	}
	return out
}

// repartitionRetried repeats the move while the group still has the member of a killed one.
func (i *instance) repartitionRetried() (out repartitioned) {
	i.t.Helper()
	testlimit.Within(i.t, "the move is done", func(context.Context) error {
		r := i.tryRepartition("--yes") //nolint:contextcheck // the command has its own context
		if r.code != 0 {
			if r.code != 1 || !strings.Contains(r.stderr, "these processes are running") && !strings.Contains(r.stderr, "has members") {
				i.t.Fatalf("code %d\n%s", r.code, r.stderr)
			}
			return errors.New(r.stderr)
		}
		return json.Unmarshal([]byte(r.stdout), &out)
	})
	return out
}

// killedHalfWay starts a move to c and kills it after it has written some partitions.
func (i *instance) killedHalfWay(c *cluster) {
	i.t.Helper()
	cmd := exec.Command(os.Getenv(envBinary), "repartition", "-f", i.config, "--yes")
	cmd.Env = environ()
	if err := cmd.Start(); err != nil {
		i.t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }() // the error states that it was killed
	testlimit.Within(i.t, "the move writes", func(ctx context.Context) error {
		if c.changelogs(ctx) == 0 {
			return errors.New("no partition is written")
		}
		return nil
	})
	if err := cmd.Process.Kill(); err != nil {
		i.t.Fatal(err)
	}
	_ = cmd.Wait()
	i.t.Logf("killed when %d of %d partitions were written", c.changelogs(i.t.Context()), c.layout.Partitions())
}

// checkIngest imports a file of events of now with the partitions that the server reports.
func (i *instance) checkIngest(addr string, now int64, l *ledger, f *follower, c *cluster) {
	t := i.t
	t.Helper()
	var lines []byte
	known := map[string]bool{}
	for _, e := range made(t, 40, now) {
		if id := e.Account + "/" + e.EventId; !known[id] { // an id that a file repeats is produced once
			known[id] = true
			l.add(e)
		}
		line, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(append(lines, line...), '\n')
	}
	file := filepath.Join(t.TempDir(), "events.jsonl")
	if err := os.WriteFile(file, lines, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := weir(t, "ingest", file, "--format", "jsonl", "--server", addr); r.code != 0 {
		t.Fatalf("ingest: code %d\n%s", r.code, r.stderr)
	}
	f.check(c, l, 0)
}

// checkMisfit checks that a configuration with another number of partitions than the topics have is
// refused, with a remedy.
func checkMisfit(c *cluster, wrong *instance) {
	t := c.t
	t.Helper()
	file := filepath.Join(t.TempDir(), "events.jsonl")
	if err := os.WriteFile(file, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for code, args := range map[int][]string{
		78: {"ingest", file, "--format", "jsonl", "-f", wrong.config, "--brokers", strings.Join(c.addrs(), ",")},
		69: {"run", "-f", wrong.config, "--instance", "other", "--data-dir", t.TempDir()},
	} {
		r := weir(t, args...)
		if r.code != code || !strings.Contains(r.stderr, "48 partitions") || !strings.Contains(r.stderr, "24") {
			t.Errorf("weir %s: code %d\n%s", args[0], r.code, r.stderr)
		}
	}
	if r := weir(t, "topics", "plan", "-f", wrong.config); !strings.Contains(r.stdout, "set spend.partitions to") {
		t.Errorf("topics plan: code %d\n%s", r.code, r.stdout)
	}
}

package exampletest

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
)

// example is a stream processor with inputs and the outputs that they demand.
type example struct {
	program    string
	partitions int
	processors int // in the program
	inputs     []*kgo.Record
	outputs    []string // topics
	want       []string // "topic key=value" of each committed output record, in any order
}

// RunStreams runs each stream processor of examples/ on a broker, one after another. dir is of
// Build.
func RunStreams(t *testing.T, dir, broker string) {
	// A real broker refuses times in the future and deletes records older than the retention.
	begin := time.Now().Add(-3 * time.Hour).Truncate(time.Second)
	for _, x := range []example{first(), wordcount(), sessions(begin), join(begin)} {
		t.Run(x.program, func(t *testing.T) { x.run(t, dir, broker) })
	}
}

// first demands each count of each user exactly once.
func first() example {
	x := example{program: "first", partitions: 4, processors: 1, outputs: []string{"totals"}}
	for i := range 3000 {
		user := strconv.Itoa(i % 70)
		x.inputs = append(x.inputs, &kgo.Record{Topic: "visits", Key: []byte(user)})
		x.want = append(x.want, fmt.Sprintf("totals %s=%d", user, i/70+1))
	}
	return x
}

// wordcount demands each count of each word exactly once.
func wordcount() example {
	x := example{program: "wordcount", partitions: 4, processors: 2, outputs: []string{"counts"}}
	counts := map[string]int{}
	for i := range 3000 {
		line := fmt.Sprintf("the quick fox %d jumps over the lazy dog", i%7)
		for word := range strings.FieldsSeq(line) {
			counts[word]++
			x.want = append(x.want, "counts "+word+"="+strconv.Itoa(counts[word]))
		}
		x.inputs = append(x.inputs, &kgo.Record{Topic: "lines", Value: []byte(line)})
	}
	return x
}

// sessions has 50 users with four sessions each. A last record of each input lets event time pass.
func sessions(begin time.Time) example {
	x := example{program: "sessions", partitions: 1, processors: 1, outputs: []string{"sessions"}}
	click := func(user string, second int64) {
		x.inputs = append(x.inputs,
			&kgo.Record{
				Topic: "clicks", Key: []byte(user), Value: []byte(`{"page":"/"}`),
				Timestamp: begin.Add(time.Duration(second) * time.Second),
			})
	}
	country := func(user string, second int64) {
		x.inputs = append(x.inputs,
			&kgo.Record{Topic: "users", Key: []byte(user), Value: []byte("at"), Timestamp: begin.Add(time.Duration(second) * time.Second)})
	}
	for round := range int64(4) {
		country("another", round*1000+999) // event time is that of the slower input
		for second := range int64(20) {
			for user := range 50 {
				click(fmt.Sprintf("user-%d", user), round*1000+second)
			}
		}
		for user := range 50 {
			first := begin.UnixMilli() + round*1_000_000
			x.want = append(x.want, fmt.Sprintf(`sessions user-%d={"clicks":20,"first_ms":%d,"last_ms":%d}`, user, first, first+19_000))
		}
	}
	click("last", 5000)
	country("last", 5000)
	return x
}

// join has 500 orders, of which every fifth is not paid. Payments come before and after orders.
func join(begin time.Time) example {
	x := example{program: "join", partitions: 1, processors: 1, outputs: []string{"paid", "unpaid"}}
	add := func(topic, id, value string, second int64) {
		x.inputs = append(x.inputs,
			&kgo.Record{Topic: topic, Key: []byte(id), Value: []byte(value), Timestamp: begin.Add(time.Duration(second) * time.Second)})
	}
	for i := range 500 {
		id, second := strconv.Itoa(i), int64(i)
		if i%5 == 0 {
			add("orders", id, "book "+id, second)
			x.want = append(x.want, "unpaid "+id+"=book "+id)
			continue
		}
		x.want = append(x.want, "paid "+id+"=book "+id+" paid by card")
		if i%2 == 0 {
			add("orders", id, "book "+id, second)
			add("payments", id, "card", second+1)
		} else {
			add("payments", id, "card", second)
			add("orders", id, "book "+id, second+1)
		}
	}
	add("orders", "last", "book", 5000)
	add("payments", "nothing", "card", 5000)
	return x
}

// run produces half of the inputs, kills the process once it has written something, starts it again
// and produces the rest.
func (x example) run(t *testing.T, dir, broker string) {
	args := []string{"-brokers", broker, "-dir", t.TempDir(), "-instance", "one", "-partitions", strconv.Itoa(x.partitions)}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	p := Start(t, filepath.Join(dir, x.program), nil, args...)
	x.awaitTopics(ctx, t, p, broker)
	p.waitFor(ctx, "all partitions run", func() bool {
		return strings.Count(p.stderr.String(), "partition_running") >= x.partitions*x.processors
	})
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.ConsumeTopics(x.outputs...), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	half := len(x.inputs) / 2
	c := consumer{client: cl, process: p}
	c.produce(ctx, x.inputs[:half])
	c.await(ctx, 1)
	p.Kill()
	p = Start(t, filepath.Join(dir, x.program), nil, args...)
	c.process = p
	c.produce(ctx, x.inputs[half:])
	c.await(ctx, len(x.want))
	x.checkAPI(ctx, t, p)
	p.Stop()
	slices.Sort(x.want)
	if slices.Sort(c.got); !slices.Equal(c.got, x.want) {
		t.Errorf("%d output records, want %d; %s", len(c.got), len(x.want), difference(c.got, x.want))
	}
}

// checkAPI asks the program for its partitions, at the address that its log has.
func (x example) checkAPI(ctx context.Context, t *testing.T, p *Process) {
	t.Helper()
	at := regexp.MustCompile(`"data":"([^"]+)"`).FindStringSubmatch(p.stderr.String())
	if at == nil {
		t.Fatalf("no address of the API in the log:\n%s", &p.stderr)
	}
	client := api.NewClient(at[1])
	defer client.Close()
	p.waitFor(ctx, "the API reports all partitions as running", func() bool {
		res, err := client.ListPartitions(ctx)
		running := 0
		for _, part := range res.GetPartitions() {
			if part.GetState() == processors.StateRunning {
				running++
			}
		}
		return err == nil && running == x.partitions*x.processors
	})
}

// consumer reads the committed output records of a process.
type consumer struct {
	client  *kgo.Client
	process *Process
	got     []string // "topic key=value"
}

func (c *consumer) produce(ctx context.Context, records []*kgo.Record) {
	c.process.t.Helper()
	if err := c.client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		c.process.t.Fatal(err)
	}
}

// await reads outputs until there are n of them in all.
func (c *consumer) await(ctx context.Context, n int) {
	c.process.t.Helper()
	for len(c.got) < n {
		fetches := c.client.PollFetches(ctx)
		if ctx.Err() != nil {
			c.process.t.Fatalf("%d output records, want %d\n%s", len(c.got), n, &c.process.stderr)
		}
		fetches.EachRecord(func(r *kgo.Record) { c.got = append(c.got, fmt.Sprintf("%s %s=%s", r.Topic, r.Key, r.Value)) })
	}
}

// awaitTopics waits until the program has created the topics.
func (x example) awaitTopics(ctx context.Context, t *testing.T, p *Process, broker string) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	adm, want := kadm.NewClient(cl), map[string]bool{}
	for _, r := range x.inputs {
		want[r.Topic] = true
	}
	for _, o := range x.outputs {
		want[o] = true
	}
	p.waitFor(ctx, "the topics exist", func() bool {
		list, err := adm.ListTopics(kafka.Uncached(ctx), slices.Collect(maps.Keys(want))...)
		return err == nil && list.Error() == nil
	})
}

// difference names a record that only one of two sorted lists has.
func difference(got, want []string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("got %q where %q is wanted", got[i], want[i])
		}
	}
	return "the others are equal"
}

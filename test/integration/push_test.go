package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/spendcounter"
)

// TestPush writes the dataset of a counter into the datacentre us, each with a Kafka of its own,
// while Kafka compacts both topics all the time. The process of the push is killed again and again,
// and stopped for longer than its session; the counter is killed, and the brokers of both
// datacentres. In the end the copy has the rows and the health of the dataset, and nothing else. At
// last a row is written as the process that was stopped would write it without a fence: late, and
// outside a transaction. The comparison notices it.
func TestPush(t *testing.T) {
	rng, seed := seeded(t)
	here, there := empty(t), newCluster(t, peerBroker(t))
	settings := []string{
		"topics: {replication_factor: 1, min_insync: 1}",
		"dcs: ['local=" + here.brokers[0].addr + "', 'us=" + there.brokers[0].addr + "']",
	}
	at := func(c *cluster, name, dc, roles string) *instance {
		i := newInstance(c, name, append(settings, "dc: "+dc)...)
		i.roles = roles
		return i
	}
	counter, a, b := at(here, "counter", "local", "spendcounter"), at(here, "a", "local", "push"), at(here, "b", "local", "push")
	dataset, copied := events.SpendTopic("local"), events.CopiedSpendTopic("local")
	for _, i := range []*instance{counter, at(there, "us", "us", "")} {
		if r := weir(t, "topics", "apply", "--for", "spend", "-f", i.config); r.code != 0 {
			t.Fatalf("create the topics of %s: %s", i.name, r.stderr)
		}
	}
	here.compactAlways(dataset)
	there.compactAlways(copied)
	cl := there.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	foreign := &kgo.Record{Topic: copied, Partition: 3, Key: []byte("\x01another program"), Value: []byte("x")}
	if err := cl.ProduceSync(testlimit.Context(t), foreign).FirstErr(); err != nil {
		t.Fatal(err)
	}

	counts := counter.start()
	l := startLoad(here, seed, 2000, 20_000)
	p := a.start()
	p.ready()
	kills := 0
	kill := func() {
		pass(t, time.Duration(rng.IntN(2500))*time.Millisecond)
		p.kill()
		kills++
		p = a.start()
		p.ready()
	}
	kill()
	for n, fault := range [][][]string{{{"restart", "-t", "30"}}, {{"kill", "--signal", "KILL"}, {"start"}}} {
		c := []*cluster{there, here}[n]
		for _, step := range fault {
			c.brokers[0].docker(t, step...)
		}
		kill() // while the broker comes back
		testlimit.Within(t, "the broker serves again", func(ctx context.Context) error { return serves(ctx, c.addrs(), 1) })
	}
	counts.kill()
	counts = counter.start()
	second := b.start()
	second.ready()
	early := datasetRows(testlimit.Context(t), there, copied)
	p.signal(syscall.SIGSTOP)
	testlimit.Within(t, "the other process has all partitions", func(ctx context.Context) error {
		return there.ownsAll(ctx, events.PushApp("local", "us"), second.name)
	})
	pass(t, time.Second)
	p.signal(syscall.SIGCONT)
	kill()
	l.finish()
	counts.ready()
	counts.signal(syscall.SIGTERM)
	if code := counts.exit(); code != 0 {
		t.Errorf("the counter ended with code %d", code)
	}
	p.alive()
	second.alive()

	want := datasetRows(testlimit.Context(t), here, dataset)
	var got map[string]datasetRow
	testlimit.Within(t, "the copy equals the dataset", func(ctx context.Context) error {
		got = datasetRows(ctx, there, copied)
		return sameRows(want, got)
	})
	for name, change := range map[string]func(map[string]datasetRow, string){
		"one is missing":  func(rows map[string]datasetRow, key string) { delete(rows, key) },
		"one is too many": func(rows map[string]datasetRow, _ string) { rows["\x01x"] = datasetRow{} },
		"one is older":    func(rows map[string]datasetRow, key string) { rows[key] = datasetRow{rows[key].partition, "x"} },
	} {
		wrong := maps.Clone(got)
		change(wrong, slices.Sorted(maps.Keys(got))[0])
		if sameRows(want, wrong) == nil {
			t.Errorf("the comparison does not notice that %s", name)
		}
	}
	old := slices.DeleteFunc(slices.Sorted(maps.Keys(early)), func(key string) bool { return early[key] == got[key] })
	if len(old) == 0 {
		t.Fatal("no row has changed since the process was stopped")
	}
	row := early[old[0]]
	late := &kgo.Record{Topic: copied, Partition: row.partition, Key: []byte(old[0]), Value: []byte(row.value)}
	if err := cl.ProduceSync(testlimit.Context(t), late).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if sameRows(want, datasetRows(testlimit.Context(t), there, copied)) == nil {
		t.Error("the comparison does not notice a late write without a fence")
	}
	t.Logf("%d rows, %d kills", len(want), kills)
	if len(want) < 200 {
		t.Errorf("%d rows are too few to mean anything", len(want))
	}
}

// compactAlways makes the brokers compact a topic as often as they can, whatever the age of its
// records.
func (c *cluster) compactAlways(topic string) {
	c.t.Helper()
	set := func(list ...string) (out []kadm.AlterConfig) {
		for i := 0; i < len(list); i += 2 {
			out = append(out, kadm.AlterConfig{Op: kadm.SetConfig, Name: list[i], Value: &list[i+1]})
		}
		return out
	}
	ctx := testlimit.Context(c.t)
	_, err1 := c.adm.AlterTopicConfigs(ctx, set("segment.ms", "1000", "min.cleanable.dirty.ratio", "0.001", "min.compaction.lag.ms", "0"), topic)
	_, err2 := c.adm.AlterBrokerConfigs(ctx, set("log.cleaner.backoff.ms", "200"))
	if err := errors.Join(err1, err2); err != nil {
		c.t.Fatal(err)
	}
}

// ownsAll returns an error unless the workers of a process have all partitions of the push.
func (c *cluster) ownsAll(ctx context.Context, app, instance string) error {
	groups, err := c.adm.DescribeGroups(ctx, app)
	g := groups[app]
	if err = errors.Join(err, g.Err); err != nil {
		return err
	}
	n := 0
	for _, m := range g.Members {
		has, ok := m.Assigned.AsConsumer()
		if !ok || m.InstanceID == nil || !strings.HasPrefix(*m.InstanceID, app+"-"+instance+"-") {
			continue
		}
		for _, topic := range has.Topics {
			n += len(topic.Partitions)
		}
	}
	if n != int(c.layout.Partitions()) {
		return fmt.Errorf("%s has %d partitions in %s", instance, n, g.State)
	}
	return nil
}

// datasetRow is a row of a dataset or of its copy.
type datasetRow struct {
	partition int32
	value     string
}

// datasetRows returns the last value of each key of the tables of a dataset that its topic has.
func datasetRows(ctx context.Context, c *cluster, topic string) map[string]datasetRow {
	c.t.Helper()
	rows := map[string]datasetRow{}
	// Compaction empties the batches at the end of a log, and a consumer does not report them. So a
	// record of another table is the last one of each partition.
	last := c.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for p := range c.layout.Partitions() {
		r := &kgo.Record{Topic: topic, Partition: p, Key: []byte("\x02the end"), Value: []byte("x")}
		if err := last.ProduceSync(ctx, r).FirstErr(); err != nil {
			c.t.Fatal(err)
		}
	}
	ends, err := c.adm.ListCommittedOffsets(ctx, topic)
	if err != nil {
		c.t.Fatal(err)
	}
	ends.Each(func(end kadm.ListedOffset) {
		cl := c.client(kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
			kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {end.Partition: kgo.NewOffset().AtStart()}}))
		defer cl.Close()
		for next := int64(0); next < end.Offset; {
			fetches := cl.PollFetches(ctx)
			if ctx.Err() != nil {
				c.t.Fatalf("read %s[%d] at offset %d of %d: %v", topic, end.Partition, next, end.Offset, ctx.Err())
			}
			fetches.EachRecord(func(r *kgo.Record) {
				next = r.Offset + 1
				switch {
				case r.Attrs.IsControl() || len(r.Key) == 0 || !slices.Contains(spendcounter.DatasetTables(), r.Key[0]):
				case r.Value == nil:
					delete(rows, string(r.Key))
				default:
					rows[string(r.Key)] = datasetRow{r.Partition, string(r.Value)}
				}
			})
		}
	})
	return rows
}

// sameRows returns a difference between the rows of a dataset and those of its copy.
func sameRows(want, got map[string]datasetRow) error {
	for key, row := range want {
		if r, ok := got[key]; !ok || r != row {
			return fmt.Errorf("of %d rows, the copy has %d; it has %q: %+v, want %+v", len(want), len(got), key, r, row)
		}
	}
	for key := range got {
		if _, ok := want[key]; !ok {
			return fmt.Errorf("the copy has %q, which the dataset does not have", key)
		}
	}
	return nil
}

//go:build synctests

package executor

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// process is a process with one executor.
type process struct {
	*Executor
	kill, stop func()
}

func start(t *testing.T, k *processorstest.Harness, w *fixture, name string) *process {
	kafka, cut := k.Link()
	dead, killed := context.WithCancel(context.Background())
	table := w.table()
	e := w.executor(func(c *Config) {
		c.Kafka, c.Instance, c.Partitions, c.PublishResult, c.Table = kafka, name, 4, nil, table
	})
	ctx, cancel := context.WithCancel(dead)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := e.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	p := &process{Executor: e, stop: func() { cancel(); <-ended }}
	p.kill = func() { cut(); killed(); <-ended }
	return p
}

// TestKills kills and restarts executors at random, on a table that throttles, fails and does not
// answer: each command has a result, and each row advances one version for each command.
func TestKills(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			topics := stream.Processor{
				App: events.LeaseExecutorGroup("eu"), Partitions: 4, Changelog: "none", Inputs: []string{events.LeaseCommandsTopic("eu")}, Outputs: stream.OutputTopics(events.LeaseResultsTopic),
			}
			processorstest.Run(t, processorstest.Options{Processor: topics, Seed: seed, NoRefold: true}, func(t *testing.T, k *processorstest.Harness) { kills(t, k, seed) })
		})
	}
}

func kills(t *testing.T, k *processorstest.Harness, seed uint64) {
	const resources = 30
	rng := rand.New(rand.NewPCG(seed, 9))
	w := newFixture(t, hostile())
	defer w.cloud.Close()
	w.settle()
	for i := range resources {
		w.set(lease.ResourceRow("c", fmt.Sprint("r", i)), lease.Row{Version: 1, Owner: "eu", Available: 1})
	}
	w.settle(hostile().Faults...)
	processes := []*process{start(t, k, w, "a"), start(t, k, w, "b")}
	ids, sent := 0, map[string]*eventspb.LeaseCommand{}
	for version := int64(1); version < 6; version++ {
		for i := range resources {
			ids++
			c := &eventspb.LeaseCommand{Id: fmt.Sprint(ids), Client: "c", Pool: "p", Region: "eu", By: "dedup", Command: &eventspb.LeaseCommand_Revoke{Revoke: &eventspb.LeaseRevoke{
				Resource: fmt.Sprint("r", i), Version: version, AvailableMs: int64(ids), Buckets: 4, Holder: lease.Holder("p", "k"),
			}}}
			value, err := proto.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			sent[c.Id] = c
			k.Produce(events.LeaseCommandsTopic("eu"), events.LeaseShard("c", fmt.Sprint(i), 4), "c|p", string(value))
		}
		time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
		i := rng.IntN(2)
		if rng.IntN(3) == 0 {
			processes[i].stop()
		} else {
			processes[i].kill()
		}
		time.Sleep(time.Duration(rng.IntN(8)) * time.Second)
		if rng.IntN(3) == 0 {
			w.settle(dynamotest.Fault{Kind: dynamotest.Unreachable, Rate: 1})
			time.Sleep(time.Duration(rng.IntN(8)) * time.Second)
			w.settle(hostile().Faults...)
		}
		processes[i] = start(t, k, w, []string{"a", "b"}[i])
	}
	results := map[string][]*eventspb.LeaseResult{}
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end) && len(results) < ids; time.Sleep(time.Second) {
		clear(results)
		for _, r := range k.Records(events.LeaseResultsTopic) {
			res := &eventspb.LeaseResult{}
			if err := proto.Unmarshal(r.Value, res); err != nil {
				t.Fatal(err)
			}
			results[res.Id] = append(results[res.Id], res)
		}
	}
	for _, p := range processes {
		p.stop()
	}
	rows := map[string]lease.Row{}
	for i := range resources {
		name := fmt.Sprint("r", i)
		rows[name] = w.row(lease.ResourceRow("c", name))
	}
	wrong := losses(sent, results, rows)
	for _, text := range wrong {
		t.Error(text)
	}
	twice := 0
	for _, list := range results {
		if len(list) > 1 {
			twice++
		}
	}
	t.Logf("%d of %d commands have more than one result", twice, ids)
}

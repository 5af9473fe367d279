package integration

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/events/loadgen"
	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/stream"
)

// datacentre is a Kafka, and the processes of a datacentre.
type datacentre struct {
	*cluster
	name           string
	counter, mover *instance // roles spendcounter; mirror and push
	counts, moves  *process
	follower       *follower
}

// newDatacentres starts three brokers, each with the topics of a datacentre, and all processes.
func newDatacentres(t *testing.T) (dcs []*datacentre) {
	var ring []string
	for _, name := range []string{"eu", "us", "ap"} {
		d := &datacentre{cluster: newCluster(t, peerBroker(t)), name: name}
		dcs, ring = append(dcs, d), append(ring, "'"+name+"="+d.brokers[0].addr+"'")
	}
	for _, d := range dcs {
		at := func(name, roles string) *instance {
			i := newInstance(d.cluster, d.name+"-"+name, "dc: "+d.name, "dcs: ["+strings.Join(ring, ", ")+"]",
				"topics: {replication_factor: 1, min_insync: 1}")
			i.roles = roles
			return i
		}
		d.counter, d.mover = at("counter", "spendcounter"), at("mover", "mirror,push")
		if r := weir(t, "topics", "apply", "--for", "spend", "-f", d.counter.config); r.code != 0 {
			t.Fatalf("create the topics of %s: %s", d.name, r.stderr)
		}
	}
	for _, d := range dcs {
		d.follower = followDC(d.cluster, d.name)
		d.counts, d.moves = d.counter.start(), d.mover.start()
	}
	for _, d := range dcs {
		d.counts.ready()
		d.moves.ready()
	}
	return dcs
}

// crossLoad produces events to all datacentres until stop is called. One in twenty arrives in a
// second one, too.
type crossLoad struct {
	ledger *ledger
	stop   func()
	ended  chan error
}

func startCrossLoad(t *testing.T, rng *rand.Rand, dcs []*datacentre, rate int64) *crossLoad {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	l := &crossLoad{ledger: newLedger(), stop: stop, ended: make(chan error, 1)}
	var gens []*loadgen.Generator
	var clients []*kgo.Client
	for i, d := range dcs {
		gen, err := loadgen.New(loadgen.Config{Seed: uint64(i), StartMs: time.Now().UnixMilli(), DuplicateRate: 0.01, Flat: true, DC: d.name})
		if err != nil {
			t.Fatal(err)
		}
		gens = append(gens, gen)
		clients = append(clients, d.client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(5*time.Millisecond)))
	}
	pacer, err := loadgen.NewPacer(rate)
	if err != nil {
		t.Fatal(err)
	}
	go func() { l.ended <- l.run(ctx, rng, gens, clients, pacer) }()
	t.Cleanup(stop)
	return l
}

func (l *crossLoad) run(ctx context.Context, rng *rand.Rand, gens []*loadgen.Generator, clients []*kgo.Client, pacer *loadgen.Pacer) error {
	var first []*kgo.FirstErrPromise
	for _, cl := range clients {
		first = append(first, kgo.AbortingFirstErrPromise(cl))
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	background := context.WithoutCancel(ctx)
	for {
		select {
		case <-ctx.Done():
			var errs []error
			for i, cl := range clients {
				errs = append(errs, cl.Flush(background), first[i].Err())
			}
			return errors.Join(errs...)
		case now := <-tick.C:
			for range pacer.Take(now) {
				from := rng.IntN(len(gens))
				e := gens[from].Next(now.UnixMilli())
				to := []int{from}
				if rng.IntN(20) == 0 {
					to = append(to, (from+1)%len(gens))
				}
				for _, at := range to {
					l.ledger.add(e)
					clients[at].Produce(background, &kgo.Record{
						Topic: events.EventsTopic, Partition: events.Shard(e.Account, events.DefaultShards), Key: []byte(e.Account),
						Value: events.AppendEvent(nil, e),
					}, first[at].Promise())
				}
			}
		}
	}
}

// TestDatacentres counts in three datacentres, each with a Kafka of its own, what the ad servers of
// all of them produce, and some events twice. The processes of mirror and push are killed every
// five seconds, and the counters at times. One broker restarts, one is killed, and one hangs. Then
// the rows of each datacentre equal a recount of all events, no record is lost, the audit finds no
// difference, and each datacentre has a copy of each dataset. No operator has done anything.
func TestDatacentres(t *testing.T) {
	onDemand(t, "takes five minutes")
	need(t)
	rng, _ := seeded(t)
	dcs := newDatacentres(t)
	l := startCrossLoad(t, rand.New(rand.NewPCG(rng.Uint64(), 1)), dcs, 600)
	faults := map[int]func(){
		2: func() { dcs[0].brokers[0].docker(t, "restart", "-t", "30") },
		4: func() {
			dcs[1].brokers[0].docker(t, "kill", "--signal", "KILL")
			dcs[1].brokers[0].docker(t, "start")
		},
		6: func() {
			dcs[2].brokers[0].docker(t, "kill", "--signal", "STOP")
			pass(t, 8*time.Second)
			dcs[2].brokers[0].docker(t, "kill", "--signal", "CONT")
		},
	}
	kills := 0
	for n := range 24 {
		pass(t, 5*time.Second)
		if fault := faults[n]; fault != nil {
			fault()
		}
		d := dcs[rng.IntN(len(dcs))]
		d.moves.kill()
		d.moves = d.mover.start()
		kills++
		if n%4 == 3 {
			d = dcs[rng.IntN(len(dcs))]
			d.counts.kill()
			d.counts = d.counter.start()
			kills++
		}
	}
	l.stop()
	if err := <-l.ended; err != nil {
		t.Fatalf("the load failed, so the ledger is invalid: %v", err)
	}
	for _, d := range dcs {
		began := time.Now()
		err := testlimit.Poll(t.Context(), func(context.Context) error {
			d.counts.alive()
			d.moves.alive()
			got, bad := d.follower.totals()
			if len(bad) > 0 {
				t.Fatalf("%s: %s", d.name, strings.Join(bad, "\n"))
			}
			if wrong := l.ledger.differences(got); len(wrong) > 0 {
				return fmt.Errorf("%d of %d rows are wrong: %s", len(wrong), len(l.ledger.totals), wrong[0])
			}
			return nil
		})
		if err != nil {
			d.explain(l.ledger, dcs)
			t.Fatalf("the rows of %s do not equal the recount: %v", d.name, err)
		}
		t.Logf("%s is exact %s after the load", d.name, time.Since(began))
		d.checkLost()
		if dead := deadLetters(d.cluster); len(dead) > 0 {
			t.Errorf("%s: %d dead letters, such as %s", d.name, len(dead), firstLetter(dead))
		}
	}
	count, duplicates, _ := l.ledger.sum()
	t.Logf("%d events, %d duplicates, %d kills", count, duplicates, kills)
	checkAudit(t, dcs)
	checkCopies(t, dcs)
}

// explain writes what differs in the datacentre: the wrong rows, the events that its topics do not
// have, what the counter has not read, and what the mirror has not copied.
func (d *datacentre) explain(want *ledger, dcs []*datacentre) {
	d.t.Helper()
	got, _ := d.follower.totals()
	wrong := want.differences(got)
	d.t.Logf("%s: wrong rows:\n%s", d.name, strings.Join(wrong, "\n"))
	recount := newLedger()
	topics := []string{events.EventsTopic}
	for _, o := range dcs {
		if o != d {
			topics = append(topics, events.CopiedEventsTopic(o.name))
		}
	}
	for _, topic := range topics {
		err := kafkaadmin.ReadTopic(testlimit.Context(d.t), kafka.Cluster{Brokers: d.cluster.addrs()}, topic, time.Time{},
			func(_ int32, r stream.Record) error {
				e := &eventspb.AdEvent{}
				if err := proto.Unmarshal(r.Value, e); err != nil {
					return err
				}
				if e.GetType() != eventspb.EventType_EVENT_TYPE_HEARTBEAT {
					recount.add(e)
				}
				return nil
			})
		if err != nil {
			d.t.Errorf("%s: %v", topic, err)
		}
	}
	lacks := want.differences(recount.totals)
	d.t.Logf("%s: %d rows differ in a recount of its topics:\n%s", d.name, len(lacks), strings.Join(lacks, "\n"))
	d.checkLost()
	for _, command := range [][]string{{"lag", "-f", d.counter.config}, {"mirror", "status", "-f", d.mover.config}} {
		r := weir(d.t, append(command, "-o", "csv")...)
		d.t.Logf("weir %s: code %d\n%s%s", strings.Join(command, " "), r.code, r.stdout, r.stderr)
	}
}

// checkCopies stops the counters, and checks that each datacentre has a copy of the dataset of each
// other one: the ring has three, so each dataset is pushed to both others.
func checkCopies(t *testing.T, dcs []*datacentre) {
	t.Helper()
	for _, d := range dcs {
		d.counts.signal(syscall.SIGTERM)
		if code := d.counts.exit(); code != 0 {
			t.Errorf("the counter of %s ended with code %d", d.name, code)
		}
	}
	for _, d := range dcs {
		want := datasetRows(testlimit.Context(t), d.cluster, events.SpendTopic(d.name))
		for _, there := range dcs {
			if there == d {
				continue
			}
			testlimit.Within(t, "the dataset of "+d.name+" at "+there.name, func(ctx context.Context) error {
				there.moves.alive()
				return sameRows(want, datasetRows(ctx, there.cluster, events.CopiedSpendTopic(d.name)))
			})
		}
	}
}

// checkLost checks that no copy is missing.
func (d *datacentre) checkLost() {
	d.t.Helper()
	d.follower.mu.Lock()
	defer d.follower.mu.Unlock()
	for key, h := range d.follower.health {
		for _, o := range h.Origins {
			if o.Lost+o.Rejected > 0 {
				d.t.Errorf("%s has lost %d records of %s and rejected %d", key, o.Lost, o.Dc, o.Rejected)
			}
		}
	}
}

// checkAudit waits until each counter has minutes of each origin in common with the others, and
// checks that they do not differ. The heartbeats of the mirrors end the minutes.
func checkAudit(t *testing.T, dcs []*datacentre) {
	t.Helper()
	var rows []struct {
		Counter, Origin string
		Minutes, Events int
	}
	testlimit.Within(t, "an audit of each counter and origin", func(context.Context) error {
		answer(t, &rows, "spend", "audit", "-f", dcs[0].counter.config) //nolint:contextcheck // the command has its own context
		if len(rows) != len(dcs)*len(dcs) {
			return fmt.Errorf("there are %d rows", len(rows))
		}
		for _, r := range rows {
			if r.Minutes == 0 || r.Events == 0 {
				return fmt.Errorf("no event of %s is compared at %s", r.Origin, r.Counter)
			}
		}
		return nil
	})
	t.Logf("audit: %+v", rows)
}

//go:build synctests

package push

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

const partitions = 2

// fixture is two datacentres: eu has the dataset in a cluster of its own, and the processes run
// with the brokers of us.
type fixture struct {
	*testing.T
	k       *processorstest.Harness
	eu      *processorstest.Remote
	rng     *rand.Rand
	adjust  func(*Config)
	mutate  func(stream.Processor) stream.Processor // of the processes; nil: none
	made    int                                     // entries
	dataset [partitions][]entry
	procs   map[string]*process
}

// process is a process, its link to the dataset and what it reports.
type process struct {
	*processorstest.Process
	link     processorstest.RemoteLink
	copies   kafka.Cluster
	registry *StatusRegistry
}

// inRuntime runs f with pushes in the real runtime, on fake brokers, and returns what the checks of
// the runtime and of the copy found.
func inRuntime(t *testing.T, seed uint64, adjust func(*Config), f func(x *fixture)) error {
	t.Helper()
	x := &fixture{adjust: adjust, procs: map[string]*process{}, rng: rand.New(rand.NewPCG(seed, 7))}
	// The outputs depend on more than the input topic, so they cannot be refolded.
	o := processorstest.Options{
		Processor: x.processor(&process{}), Config: processors.Config{Tick: Tick}, Seed: seed, NoRefold: true, Partitions: partitions,
	}
	var wrong error
	err := processorstest.CheckRun(t, o, func(t *testing.T, k *processorstest.Harness) {
		x.T, x.k = t, k
		x.eu = processorstest.NewRemote(t, partitions, "data")
		f(x)
		wrong = x.check()
	})
	if err == nil {
		err = wrong
	}
	return err
}

func (x *fixture) processor(p *process) stream.Processor {
	c := Config{
		DC: "eu", Target: "us", Source: p.link.Kafka, Copies: p.copies, Dataset: "data", Copy: "copy",
		Tables: copiedTables(), Health: healthTable, Partitions: partitions, Registry: p.registry,
	}
	if x.adjust != nil {
		x.adjust(&c)
	}
	made, err := c.Processor()
	if err != nil {
		panic(err)
	}
	return made
}

func (x *fixture) start(name string) *process {
	p := &process{link: x.eu.Link(), registry: &StatusRegistry{}}
	p.copies, _ = x.k.Link()
	made := x.processor(p)
	if x.mutate != nil {
		made = x.mutate(made)
	}
	p.Process = x.k.StartWith(name, processors.Config{Tick: Tick}, made)
	x.procs[name] = p
	return p
}

// entries returns n random changes of rows, and at their end a health record.
func (x *fixture) entries(n int) (list []entry) {
	for range n {
		x.made++
		e := entry{n: x.made, deleted: x.rng.IntN(6) == 0}
		switch x.rng.IntN(5) {
		case 0:
			e.key = fmt.Sprintf("%c%d", otherTable, x.rng.IntN(5))
		case 1:
			e.key = fmt.Sprintf("%c%d", hoursTable, x.rng.IntN(20))
		default:
			e.key = fmt.Sprintf("%c%d", spendTable, x.rng.IntN(20))
		}
		list = append(list, e)
	}
	x.made++
	return append(list, entry{key: fmt.Sprintf("%c", healthTable), n: x.made})
}

// write writes changes of a partition in one transaction.
func (x *fixture) write(p int32, list ...entry) {
	x.Helper()
	x.eu.Commit("counter", "data", p, messages(list)...)
	x.dataset[p] = append(x.dataset[p], list...)
}

func messages(list []entry) (out []stream.Message) {
	for _, e := range list {
		out = append(out, e.message())
	}
	return out
}

// copies returns the committed records of the copy.
func (x *fixture) copies(p int32) []stream.Record {
	return processorstest.ByPartition(x.k.Records("copy"))[p]
}

// check waits until the copy has all rows, or for a minute, and checks it.
func (x *fixture) check() error {
	var wrong []string
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Second) {
		wrong = nil
		for p := range int32(partitions) {
			wrong = append(wrong, judge(p, x.dataset[p], x.copies(p))...)
		}
		if len(wrong) == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%q", wrong[:min(5, len(wrong))])
		}
	}
}

// caughtUp waits until the copy has all rows, and reports what is wrong otherwise.
func (x *fixture) caughtUp() {
	x.Helper()
	if err := x.check(); err != nil {
		x.Error(err)
	}
}

// status returns the status of a partition in the process that pushes it.
func (x *fixture) status(partition int32) (s Status, found bool) {
	for _, p := range x.procs {
		for _, s := range p.registry.List() {
			if s.Partition == partition && !p.Ended() {
				return s, true
			}
		}
	}
	return s, false
}

// awaitStatus waits for a status that holds.
func (x *fixture) awaitStatus(partition int32, what string, holds func(Status) bool) (s Status) {
	x.Helper()
	x.k.WaitFor(what, 5*time.Minute, func() bool {
		var found bool
		s, found = x.status(partition)
		return found && holds(s)
	})
	return s
}

// followed waits until the copy is complete and a partition is followed to its end.
func (x *fixture) followed(partition int32) {
	x.Helper()
	x.caughtUp()
	x.awaitStatus(partition, "the partition is followed to its end",
		func(s Status) bool {
			return s.Comparing == "" && s.Problem == "" && s.Next >= 0 && s.End >= 0 && s.Lag() == 0
		})
}

// position returns the position that the state of a partition has.
func (x *fixture) position(partition int32) (at position, found bool) {
	x.Helper()
	value, found := x.k.State(partition, positionTable)[positionKey]
	if !found {
		return at, false
	}
	if err := json.Unmarshal(value, &at); err != nil {
		x.Fatal(err)
	}
	return at, true
}

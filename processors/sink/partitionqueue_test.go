package sink

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weirhq/weir/stream"
)

// naiveQueue is a partitionQueue that examines all records each time.
type naiveQueue struct {
	keys  []string
	state []string // waiting, running, done
}

func (d *naiveQueue) ready(i int) bool {
	if d.state[i] != "waiting" {
		return false
	}
	for j := range i {
		if d.keys[j] == d.keys[i] && d.state[j] != "done" {
			return false
		}
	}
	return true
}

func (d *naiveQueue) committable() int64 {
	if i := slices.IndexFunc(d.state, func(s string) bool { return s != "done" }); i >= 0 {
		return int64(i)
	}
	return int64(len(d.state))
}

// TestPartitionQueue compares partitionQueue with naiveQueue in random histories.
func TestPartitionQueue(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		l, d := newPartitionQueue(), &naiveQueue{}
		var running []*entry
		for range 300 {
			switch rng.IntN(4) {
			case 0:
				key := fmt.Sprint(rng.IntN(1 + int(seed%7)))
				l.add(&entry{SinkRecord: stream.SinkRecord{Offset: int64(len(d.keys)), Value: []byte("v")}, key: key})
				d.keys, d.state = append(d.keys, key), append(d.state, "waiting")
			case 1, 2:
				if e := l.take(); e != nil {
					if !d.ready(int(e.Offset)) {
						t.Fatalf("seed %d: record %d was given, and is not ready", seed, e.Offset)
					}
					d.state[e.Offset] = "running"
					running = append(running, e)
				} else {
					for i := range d.keys {
						if d.ready(i) {
							t.Fatalf("seed %d: record %d is ready, and was not given", seed, i)
						}
					}
				}
			case 3:
				if len(running) == 0 {
					continue
				}
				i := rng.IntN(len(running))
				e := running[i]
				running = slices.Delete(running, i, i+1)
				if rng.IntN(3) == 0 {
					d.state[e.Offset] = "waiting"
					l.requeue(e)
				} else {
					d.state[e.Offset] = "done"
					l.finish(e)
				}
			}
			if len(d.keys) > 0 && l.committable() != d.committable() {
				t.Fatalf("seed %d: %d would be committed, not %d", seed, l.committable(), d.committable())
			}
			open := 0
			for _, s := range d.state {
				if s != "done" {
					open++
				}
			}
			if l.bytes != open {
				t.Fatalf("seed %d: %d bytes are pending, not %d", seed, l.bytes, open)
			}
		}
	}
}

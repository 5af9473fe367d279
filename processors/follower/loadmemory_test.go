package follower

import (
	"errors"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestLoadMemory: loads that take turns collect no more than the limit together, and no rows are
// lost. An abandoned load leaves nothing behind.
func TestLoadMemory(t *testing.T) {
	f, _ := standalone(t, false)
	clear(f.parts)
	const loads, rounds = 5, 2000
	for n := range int32(loads) {
		p := &partition{topic: f.cfg.Topics[0], slot: -1, active: true, position: position{Topic: "log", Partition: n, Epoch: -1}}
		f.parts[id{"log", n}] = p
		l, err := f.newLoad(p.AsOf, 0, rounds)
		if err != nil {
			t.Fatal(err)
		}
		p.load = l
	}
	value, most := make([]byte, 1000), 0
	for i := range int64(rounds) {
		for n, p := range f.parts {
			if n.n == 0 && i == rounds-1 {
				continue // one load does not end
			}
			a := f.newApplier()
			err := a.records(p, []*kgo.Record{{Offset: i, Key: fmt.Appendf(nil, "\x01%d", i*7919%rounds), Value: value}})
			if err = errors.Join(err, a.commit()); err != nil {
				t.Fatal(err)
			}
			most = max(most, f.memory.collected)
			if len(f.memory.writing) > maxWriting {
				t.Fatalf("%d tables are written at the same time", len(f.memory.writing))
			}
		}
	}
	if limit := f.memory.limit; most > limit || most < limit/2 {
		t.Errorf("the loads collected %d bytes, and the limit is %d", most, limit)
	}
	abandoned := f.parts[id{"log", 0}]
	if err := abandoned.load.abandon(); err != nil {
		t.Fatal(err)
	}
	abandoned.load = nil
	for range loads - 1 {
		if err := f.finishWritten(true); err != nil {
			t.Fatal(err)
		}
	}
	for n := range int32(loads) {
		rows := 0
		err := f.Scan("log", n, nil, func(Row) error { rows++; return nil })
		if n > 0 && (rows != rounds || err != nil) || n == 0 && !errors.Is(err, ErrLoading) {
			t.Errorf("partition %d has %d rows, %v", n, rows, err)
		}
	}
	if f.memory.collected != 0 {
		t.Errorf("%d bytes are still collected", f.memory.collected)
	}
}

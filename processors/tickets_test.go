//go:build synctests

package processors_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/stream"
)

// tickets gives each id a number, from 1 on without a gap. Ids come as records and as questions.
// Table 1 has the number of each id, table 2 the last number.
type tickets struct {
	stream.Task
	report func(report) // each call of Committed

	last     uint64
	given    map[string]uint64 // of the open transaction
	parked   map[string]chan uint64
	flushed  map[string]uint64 // what the last Flush handed over
	answers  map[string]chan uint64
	flushes  uint64 // sequence of the last Flush
	reported uint64
	view     atomic.Uint64 // the last number that is committed
}

// report is a call of Committed.
type report struct {
	partition       int32
	epoch, sequence uint64
	order, missing  string // what the handler finds wrong: the order of the calls, a change that the store lacks
}

// ticketLog collects the reports of all handlers.
type ticketLog struct {
	mu      sync.Mutex
	reports []report
}

func (l *ticketLog) add(r report) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reports = append(l.reports, r)
}

func (l *ticketLog) processor() stream.Processor {
	return stream.Processor{App: "tickets", Inputs: []string{"in", "in2"}, Changelog: "log", New: func(t stream.Task) (stream.Handler, error) {
		h := &tickets{Task: t, report: l.add, given: map[string]uint64{}, parked: map[string]chan uint64{}, answers: map[string]chan uint64{}}
		v, err := t.Get(2, nil)
		if v != nil {
			h.last = binary.BigEndian.Uint64(v)
		}
		h.view.Store(h.last)
		return h, err
	}}
}

// take gives id a number. durable reports that it was given in an earlier transaction.
func (h *tickets) take(id string) (n uint64, durable bool, err error) {
	if n, ok := h.given[id]; ok {
		return n, false, nil
	}
	v, err := h.Get(1, []byte(id))
	if v != nil || err != nil {
		return binary.BigEndian.Uint64(append(v, make([]byte, 8)...)), true, err
	}
	h.last++
	h.given[id] = h.last
	return h.last, false, nil
}

// park gives id a number, which comes once it is committed. The channel is closed without a number
// if that does not happen.
func (h *tickets) park(id string) (chan uint64, error) {
	c := make(chan uint64, 1)
	n, durable, err := h.take(id)
	switch {
	case err != nil:
		return nil, err
	case durable:
		c <- n
	default:
		h.parked[id] = c
		h.Wake()
	}
	return c, nil
}

func (h *tickets) Fold(b *stream.Batch) error {
	for i := range b.Records {
		if _, _, err := h.take(string(b.Records[i].Value)); err != nil {
			return err
		}
	}
	return nil
}

func (h *tickets) Flush(c stream.Commit, ch *stream.Changes) error {
	for id, n := range h.given {
		ch.Put(1, []byte(id), binary.BigEndian.AppendUint64(nil, n))
	}
	if len(h.given) > 0 {
		ch.Put(2, nil, binary.BigEndian.AppendUint64(nil, h.last))
	}
	h.flushed, h.given = h.given, map[string]uint64{}
	for id, c := range h.parked {
		h.answers[id] = c
	}
	clear(h.parked)
	h.flushes = c.Sequence
	return nil
}

func (h *tickets) Committed(sequence uint64) {
	r := report{partition: h.Partition, epoch: h.OwnerEpoch, sequence: sequence}
	if sequence != h.flushes || sequence <= h.reported {
		r.order = fmt.Sprintf("it comes after a Flush of %d and a report of %d", h.flushes, h.reported)
	}
	h.reported = sequence
	for id, want := range h.flushed {
		if n, durable, err := h.take(id); err != nil || !durable || n != want {
			r.missing = fmt.Sprintf("the store has %d for %s, %v, want %d", n, id, err, want)
		}
	}
	h.report(r)
	h.view.Store(h.last)
	for id, c := range h.answers {
		c <- h.flushed[id]
		delete(h.answers, id)
	}
}

func (h *tickets) Close() {
	for _, m := range []map[string]chan uint64{h.parked, h.answers} {
		for _, c := range m {
			close(c)
		}
		clear(m)
	}
}

var errNoAnswer = errors.New("the handler was discarded")

// askPark asks for a number by park.
func askPark(ctx context.Context, rt *processors.Runtime, p int32, id string) (n uint64, err error) {
	var c chan uint64
	if err = processors.Ask(ctx, rt, p, func(h *tickets) (err error) {
		c, err = h.park(id)
		return err
	}); err != nil {
		return 0, err
	}
	select {
	case n, ok := <-c:
		if !ok {
			return 0, errNoAnswer
		}
		return n, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// askCommitted asks for a number by AskCommitted.
func askCommitted(ctx context.Context, rt *processors.Runtime, p int32, id string) (n uint64, err error) {
	err = processors.AskCommitted(ctx, rt, p, func(h *tickets) (err error) {
		n, _, err = h.take(id)
		return err
	})
	return n, err
}

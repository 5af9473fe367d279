package main

import (
	"context"
	"fmt"
	"time"

	"github.com/IBM/sarama"
)

const stall = 2 * time.Minute

// stopwatch measures a group from outside with the committed offsets on the broker.
type stopwatch struct {
	admin  sarama.ClusterAdmin
	group  string
	topic  string
	parts  []int32
	first  map[int32]int64
	events int64
}

// newStopwatch measures the log as it is now; records that are added later do not count.
func newStopwatch(client sarama.Client, admin sarama.ClusterAdmin, group, topic string) (*stopwatch, error) {
	parts, err := client.Partitions(topic)
	if err != nil {
		return nil, fmt.Errorf("topic %s: %w", topic, err)
	}
	w := &stopwatch{admin: admin, group: group, topic: topic, parts: parts, first: map[int32]int64{}}
	for _, p := range parts {
		if w.first[p], err = client.GetOffset(topic, p, sarama.OffsetOldest); err != nil {
			return nil, err
		}
		end, err := client.GetOffset(topic, p, sarama.OffsetNewest)
		if err != nil {
			return nil, err
		}
		w.events += end - w.first[p]
	}
	if w.events == 0 {
		return nil, fmt.Errorf("topic %s is empty: fill it with `weir bench spend`", topic)
	}
	return w, nil
}

// run waits until all events are committed, or until dead is closed. It returns events/s without
// the first quarter.
func (w *stopwatch) run(ctx context.Context, dead <-chan struct{}) (perSecond float64, err error) {
	var done, base int64
	began, moved := time.Now(), time.Now()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for done < w.events {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-dead:
			return 0, fmt.Errorf("the processor ended after %d of %d events", done, w.events)
		case <-tick.C:
		}
		n, err := w.committed()
		if err != nil {
			return 0, err
		}
		if n > done {
			done, moved = n, time.Now()
		}
		if time.Since(moved) > stall {
			return 0, fmt.Errorf("no commit for %s after %d of %d events", stall, done, w.events)
		}
		if base == 0 && done > 0 && done >= w.events/4 {
			base, began = done, moved
		}
	}
	if base == done {
		return 0, fmt.Errorf("the log of %d events ended within the warm-up: use more events", w.events)
	}
	return float64(done-base) / moved.Sub(began).Seconds(), nil
}

func (w *stopwatch) committed() (n int64, err error) {
	answer, err := w.admin.ListConsumerGroupOffsets(w.group, map[string][]int32{w.topic: w.parts})
	if err != nil {
		return 0, err
	}
	for p, b := range answer.Blocks[w.topic] {
		if b.Offset >= 0 { // -1 means no committed offset
			n += b.Offset - w.first[p]
		}
	}
	return n, nil
}

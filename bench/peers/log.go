package main

import (
	"context"

	"github.com/weirhq/weir/bench/peers/totals"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/loadgen"
)

// sums is what a key of the log comes to.
type sums struct{ micros, count int64 }

// holds returns the totals of a log that `weir bench spend` makes: the same generator, counted
// here.
func holds(ctx context.Context, cfg loadgen.BenchConfig, n int64) (totals.Totals, error) {
	var t totals.Totals
	gen, err := loadgen.NewBench(cfg)
	if err != nil {
		return t, err
	}
	byKey := map[string]*sums{}
	var buf, key, value []byte
	var e events.View
	for i := range n {
		if i%(1<<20) == 0 && ctx.Err() != nil {
			return t, ctx.Err()
		}
		var r loadgen.Record
		buf, r = gen.Append(buf[:0])
		if err := e.Decode(r.Value); err != nil {
			return t, err
		}
		key = totals.Key(key[:0], &e)
		s := byKey[string(key)]
		if s == nil {
			s = &sums{}
			byKey[string(key)] = s
		}
		s.micros += e.PriceMicros
		s.count++
	}
	for k, s := range byKey {
		value = totals.Value(value[:0], s.micros, s.count)
		if err := t.Add([]byte(k), value); err != nil {
			return t, err
		}
	}
	return t, nil
}

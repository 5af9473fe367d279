package broker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/events/loadgen"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
)

// fillKeys fills a log whose count has this many keys.
func fillKeys(ctx context.Context, e *Env, keys int64) (Log, error) {
	// n random events touch c(1-e^(-n/c)) of c campaigns: n = 2 keys and c = 1.25 keys give 0.998
	// keys.
	log := Log{Events: 2 * keys, Campaigns: int(keys * 5 / 4), Zipf: loadgen.Even}
	return log, log.Fill(ctx, e)
}

// restart measures the time from the start of a process that was killed with -9 to its first
// committed new record.
func (s *Suite) restart(ctx context.Context, e *Env, keys int64) (f Figure, err error) {
	c, done, err := s.counted(ctx, e, load{keys, 0})
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, done()) }()
	var took []float64
	for range s.Rounds {
		before, err := c.group.Next(ctx)
		if err != nil {
			return f, err
		}
		if _, err := c.group.Await(ctx, AllPast(before)); err != nil { // every partition is active
			return f, err
		}
		if err := c.kill(0); err != nil {
			return f, err
		}
		if before, err = c.waitIdle(ctx); err != nil {
			return f, err
		}
		started := time.Now()
		if err := c.start(0, 0); err != nil {
			return f, err
		}
		back, err := c.group.Await(ctx, Total(Sum(before)+1))
		if err != nil {
			return f, err
		}
		took = append(took, back.Sub(started).Seconds())
		e.Notef("kill -9 with %d keys: first new record after %.2f s", keys, took[len(took)-1])
	}
	return newFigure(fmt.Sprintf("restart after kill -9, %d keys: to the first new record", keys), "s", took), nil
}

// waitIdle returns the committed offsets once they no longer grow: the brokers may still complete
// the last transaction of a dead process.
func (c *processGroup) waitIdle(ctx context.Context) (map[int32]int64, error) {
	last, err := c.group.Next(ctx)
	for since := time.Now(); err == nil && time.Since(since) < 300*time.Millisecond; {
		var next map[int32]int64
		if next, err = c.group.Next(ctx); err == nil && !maps.Equal(next, last) {
			last, since = next, time.Now()
		}
		if !pause.Poll(ctx) {
			return nil, ctx.Err()
		}
	}
	return last, err
}

// takeover measures the time from kill -9 until the other process has committed in every partition
// of the dead one.
func (s *Suite) takeover(ctx context.Context, e *Env, standbys int) (f Figure, err error) {
	what := fmt.Sprintf("kill -9, not restarted, %d keys, %d standbys: to new records of all its partitions", takeoverKeys, standbys)
	var took []float64
	for range s.Rounds {
		d, err := s.takeoverOnce(ctx, e, standbys)
		if err != nil {
			return f, err
		}
		e.Notef("%s: %.2f s", what, d.Seconds())
		took = append(took, d.Seconds())
	}
	return newFigure(what, "s", took), nil
}

func (s *Suite) takeoverOnce(ctx context.Context, e *Env, standbys int) (d time.Duration, err error) {
	c, done, err := s.counted(ctx, e, load{takeoverKeys, standbys})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, done()) }()
	if err := c.start(1, standbys); err != nil {
		return 0, err
	}
	if err := c.waitBalanced(ctx, standbys); err != nil {
		return 0, err
	}
	killed := time.Now()
	if err := c.kill(0); err != nil { // process 0 once owned all partitions; process 1 has only its own on disk
		return 0, err
	}
	before, err := c.group.Next(ctx)
	if err != nil {
		return 0, err
	}
	back, err := c.group.Await(ctx, AllPast(before))
	return back.Sub(killed), err
}

// waitBalanced waits until two processes have shared the partitions and standbys for some seconds.
func (c *processGroup) waitBalanced(ctx context.Context, standbys int) error {
	for since := time.Now(); time.Since(since) < 5*time.Second; {
		members, err := processors.Members(ctx, c.env.Kafka, c.proc.App)
		owns, warm := map[string]int{}, 0
		for _, m := range members {
			owns[m.Instance] += len(m.Partitions)
			warm += len(m.Standbys)
		}
		if err != nil || owns["0"] != 12 || owns["1"] != 12 || warm != 24*standbys {
			since = time.Now()
		}
		if !pause.Poll(ctx) {
			return ctx.Err()
		}
	}
	return nil
}

// takeoverKeys is the number of keys of the two processes in a takeover.
const takeoverKeys = 1_000_000

// load configures a process for restart and takeover.
type load struct {
	keys     int64
	standbys int
}

// counted starts a process, waits until it has counted a log with this many keys, and continues
// with a low rate of events.
func (s *Suite) counted(ctx context.Context, e *Env, l load) (c *processGroup, done func() error, err error) {
	log, err := fillKeys(ctx, e, l.keys)
	if err != nil {
		return nil, nil, err
	}
	if c, err = newProcessGroup(ctx, e, log.topic()); err != nil {
		return nil, nil, err
	}
	tctx, cancel := context.WithCancel(ctx)
	g, tctx := errgroup.WithContext(tctx)
	done = func() error {
		cancel()
		return errors.Join(g.Wait(), c.stop(ctx))
	}
	if err = c.start(0, l.standbys); err == nil {
		_, err = c.group.Await(ctx, Total(log.Events))
	}
	if err != nil {
		return nil, nil, errors.Join(err, done())
	}
	g.Go(func() error { return trickle(tctx, e.Kafka, log.topic()) })
	return c, done, nil
}

// trickle produces about 4,000 events per second until ctx ends.
func trickle(ctx context.Context, k kafka.Cluster, topic string) error {
	sink, err := kafka.NewProducer(k, topic)
	if err != nil {
		return err
	}
	defer sink.Close()
	gen, err := loadgen.New(loadgen.Config{StartMs: time.Now().UnixMilli(), Zipf: loadgen.Even})
	if err != nil {
		return err
	}
	for pause.Poll(ctx) {
		var buf []byte
		for range 96 {
			var r loadgen.Record
			buf, r = gen.Append(buf[:0], time.Now().UnixMilli())
			if err := sink.Produce(ctx, r.Partition, r.Key, r.Value); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
	return nil
}

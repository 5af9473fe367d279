package broker

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

const (
	restorePartitions = 24
	restoreValue      = 100 // bytes
)

// LoadChangelog fills a changelog with n keys of 16 bytes and values of 100 bytes, evenly over 24
// partitions in random order, with a marker at the end of each partition. An existing changelog is
// reused. It returns the topic.
func LoadChangelog(ctx context.Context, k kafka.Cluster, n int64) (topic string, err error) {
	topic = fmt.Sprintf("weir.bench.restore.%d", n)
	total := n + restorePartitions
	if ends, err := kafka.EndOffsets(ctx, k, topic); err == nil {
		var have int64
		for _, end := range ends[topic] {
			have += end
		}
		if have >= total { // earlier runs added barriers
			return topic, nil
		}
	}
	var i int64
	value := make([]byte, restoreValue)
	rng := rand.New(rand.NewPCG(1, 2))
	key := make([]byte, 17)
	err = Load(ctx, k, topic, total, func() Record {
		p := int32(i % restorePartitions)
		if i++; i > n {
			m := &changelogpb.Marker{
				Sequence: 1, OwnerEpoch: 1, Inputs: []*changelogpb.Position{{Topic: restoreInput}}, WrittenAtMs: time.Now().UnixMilli(),
			}
			b, err := proto.Marshal(m)
			if err != nil {
				return Record{Partition: p, Key: []byte("\x00m")}
			}
			return Record{Partition: p, Key: []byte("\x00m"), Value: b}
		}
		key[0] = 1
		binary.BigEndian.PutUint64(key[1:], rng.Uint64())
		binary.BigEndian.PutUint64(key[9:], uint64(i))
		for j := 0; j < restoreValue; j += 25 { // a row compresses to about a third
			binary.LittleEndian.PutUint64(value[j:], rng.Uint64())
		}
		return Record{Partition: p, Key: key, Value: value}
	})
	return topic, err
}

const restoreInput = "weir.bench.restore.in"

// Restore restores the state of a changelog of LoadChangelog to an empty disk. It returns the keys
// per second from the start of the process until its last partition runs.
func Restore(ctx context.Context, cfg processors.Config, topic string, n int64) (Result, error) {
	app := fmt.Sprintf("weir.bench.restore-%d", time.Now().UnixNano())
	cl, err := cfg.Kafka.Client()
	if err != nil {
		return Result{}, err
	}
	defer cl.Close()
	adm := admin{kadm.NewClient(cl)}
	for _, t := range []string{restoreInput, app + ".dlq"} {
		if err := adm.create(ctx, t, restorePartitions, nil); err != nil {
			return Result{}, err
		}
	}
	if err := commitStart(ctx, adm.Client, app); err != nil {
		return Result{}, err
	}
	dir, err := os.MkdirTemp("", "weir-bench")
	if err != nil {
		return Result{}, err
	}
	cfg.Dir = dir
	rt, err := processors.New(cfg, stream.Processor{
		App: app, Inputs: []string{restoreInput}, Changelog: topic,
		New: func(stream.Task) (stream.Handler, error) { return noopHandler{}, nil },
	})
	if err != nil {
		return Result{}, err
	}
	run, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	began := time.Now()
	go func() { done <- rt.Run(run) }()
	err = allRunning(done, rt)
	took := time.Since(began)
	stop()
	_, deleted := adm.DeleteTopics(context.WithoutCancel(ctx), app+".dlq")
	return result("restore", n, took), errors.Join(err, <-done, os.RemoveAll(dir), deleted)
}

// commitStart commits the offsets of the markers for a new group.
func commitStart(ctx context.Context, adm *kadm.Client, app string) error {
	at := kadm.Offsets{}
	for p := range int32(restorePartitions) {
		at.AddOffset(restoreInput, p, 0, -1)
	}
	return adm.CommitAllOffsets(ctx, app, at)
}

func allRunning(done chan error, rt *processors.Runtime) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			done <- nil
			return errors.Join(errors.New("the processor ended before it was restored"), err)
		case <-tick.C:
		}
		running := 0
		for _, s := range rt.Status() {
			switch s.State {
			case "running":
				running++
			case "stopped":
				return fmt.Errorf("partition %d stopped: %s", s.Partition, s.Reason)
			}
		}
		if running == restorePartitions {
			return nil
		}
	}
}

// noopHandler is a handler without state.
type noopHandler struct{}

func (noopHandler) Fold(*stream.Batch) error                   { return nil }
func (noopHandler) Flush(stream.Commit, *stream.Changes) error { return nil }

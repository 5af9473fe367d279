package broker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/local"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/jobqueue/jobpb"
	"github.com/weirhq/weir/jobqueue/queues"
	"github.com/weirhq/weir/processors"
)

const (
	benchQueue    = "bench"
	jobPartitions = 8 // of the topics, as by default
)

// jobServer is job queues with their API on a port of this machine, in this process, with topics
// and a directory of its own. Its queue is benchQueue.
type jobServer struct {
	client  *api.Client
	closers []func() error // the last one is called first
}

// startJobServer starts a server for the callers of a benchmark. Close it.
func startJobServer(ctx context.Context, e *Env, b *JobsBench) (*jobServer, error) {
	s := &jobServer{}
	if err := s.start(ctx, e, b); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// start makes the topics and the directory, starts the server and creates the queue.
func (s *jobServer) start(ctx context.Context, e *Env, b *JobsBench) error {
	proc := queues.Processor(events.Layout{
		Prefix: fmt.Sprintf("weir.bench.jobs-%d.", time.Now().UnixNano()), Shards: int32(max(jobPartitions, b.Partitions)),
	}, nil)
	topics, err := isolate(ctx, e.Kafka, &proc)
	if err != nil {
		return err
	}
	topics.names = append(topics.names, proc.Inputs...)
	s.onClose(func() error { return topics.remove(ctx) })
	if err := topics.adm.create(ctx, proc.Inputs[0], proc.Partitions, nil); err != nil {
		return err
	}
	cfg := e.Jobs(e.Memory)
	cfg.Kafka = e.Kafka
	if cfg.Dir, err = os.MkdirTemp("", "weir-bench"); err != nil {
		return err
	}
	s.onClose(func() error { return os.RemoveAll(cfg.Dir) })
	rt, err := processors.New(cfg, proc)
	if err != nil {
		return err
	}
	if err := s.serve(ctx, e, rt, b.Parked+b.Agents); err != nil {
		return err
	}
	_, err = s.client.SetQueue(ctx, &jobpb.SetQueueRequest{
		Queue: benchQueue, Settings: &jobpb.QueueSettings{Partitions: int32(b.Partitions), Events: b.Events},
	})
	return err
}

// serve runs the queues and their API until close, and returns when they are ready. All callers
// have one address, so they need more than the share of a client.
func (s *jobServer) serve(ctx context.Context, e *Env, rt *processors.Runtime, callers int) error {
	app := local.NewApp(local.AppConfig{Runtime: rt, Kafka: e.Kafka})
	sink := &local.JobSink{Kafka: e.Kafka, Topic: rt.Processor().Inputs[0]}
	s.onClose(func() error {
		sink.Close()
		app.State.Close()
		return nil
	})
	server, err := api.New(api.Config{
		Listen: "127.0.0.1:0", OpsListen: "127.0.0.1:0", Cluster: &local.ClusterInfo{Kafka: e.Kafka}, Apps: []api.App{app},
		Jobs: local.NewJobs(rt), JobSink: sink, JobState: app.State,
		MaxParked: 1024 + callers, MaxParkedPerClient: 1024 + callers,
	})
	if err != nil {
		return err
	}
	if err := server.Listen(ctx); err != nil {
		return err
	}
	rt.Advertise(server.Addr())
	s.client = api.NewClientWith(api.ClientConfig{
		Server: server.Addr(), Transport: &http.Transport{MaxIdleConnsPerHost: 1024 + callers},
	})
	run, stop := context.WithCancel(ctx)
	g, run := errgroup.WithContext(run)
	g.Go(func() error { return rt.Run(run) })
	g.Go(func() error { return server.Run(run) })
	s.onClose(func() error {
		s.client.Close()
		stop()
		return g.Wait()
	})
	for runningTasks(rt) < int(rt.Processor().Partitions) {
		if !pause.Poll(run) {
			return errors.New("the job queues ended before they were ready")
		}
	}
	return nil
}

// runningTasks returns the number of partitions that run.
func runningTasks(rt *processors.Runtime) (n int) {
	for _, s := range rt.Status() {
		if s.State == processors.StateRunning {
			n++
		}
	}
	return n
}

// onClose adds what close does before the rest.
func (s *jobServer) onClose(fn func() error) { s.closers = append(s.closers, fn) }

// close stops the server, and removes its topics and its directory.
func (s *jobServer) close() (err error) {
	for _, fn := range slices.Backward(s.closers) {
		err = errors.Join(err, fn())
	}
	return err
}

// awaitAgents waits until n agents are up; one counts once in each partition.
func (s *jobServer) awaitAgents(ctx context.Context, n int) error {
	for {
		q, err := s.queue(ctx)
		if err != nil || int(q.GetAgents()) >= n {
			return err
		}
		if !pause.Poll(ctx) {
			return ctx.Err()
		}
	}
}

// queue returns the queue as it is now, in all its partitions.
func (s *jobServer) queue(ctx context.Context) (*jobpb.Queue, error) {
	res, err := s.client.ListQueues(ctx, &jobpb.ListQueuesRequest{Queue: benchQueue})
	if err != nil {
		return nil, err
	}
	if len(res.GetQueues()) != 1 || len(res.GetUnread()) > 0 {
		return nil, fmt.Errorf("the queue could not be read in all its partitions: %v", res)
	}
	return res.GetQueues()[0], nil
}

package api

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/jobqueue/jobpb"
	"github.com/weirhq/weir/jobqueue/jobpb/jobpbconnect"
	"github.com/weirhq/weir/jobqueue/queues"
)

// jobService implements weir.jobs.v1.JobService.
type jobService struct {
	source    JobSource // nil: this process runs no job queues
	sink      JobSink
	router    *Router
	apps      *apps
	parking   *parking
	waitLimit time.Duration
	turns     atomic.Uint32 // polls

	mu       sync.Mutex
	settings map[string]knownQueue
}

// knownQueue is a queue as it was read.
type knownQueue struct {
	*eventspb.JobQueueSettings
	at time.Time
}

// Bounds of what is remembered of queues. A queue that gets further partitions is known with those
// before for queueAge.
const (
	queueAge  = 5 * time.Second
	maxQueues = 10_000
)

// available returns an error in a process without the role jobs.
func (s *jobService) available() error {
	if s.source == nil || s.sink == nil || s.router == nil {
		return errorf(connect.CodeUnimplemented, "this process%s runs no job queues: send the request to a process with the role jobs",
			s.apps.running())
	}
	return nil
}

// partitions returns the number of partitions of jobs.submits.
func (s *jobService) partitions() int32 { return s.router.info.Partitions }

// shard is a request about one partition.
type shard[R any] struct {
	partition int32
	limit     time.Duration // 0: forwardTimeout
	local     func(ctx context.Context) (*R, error)
	remote    func(ctx context.Context, c jobpbconnect.JobServiceClient) (*connect.Response[R], error)
}

// run sends the request to the process that runs the partition.
func (a shard[R]) run(ctx context.Context, s *jobService) (*R, error) {
	if a.limit == 0 {
		a.limit = forwardTimeout
	}
	return lookup[*R]{
		partition: a.partition, limit: a.limit,
		local: func(ctx context.Context, _ time.Duration) (*R, error) {
			ctx, cancel := context.WithTimeout(ctx, a.limit)
			defer cancel()
			return a.local(ctx)
		},
		remote: func(ctx context.Context, c peerClient) (*R, error) {
			res, err := a.remote(ctx, c.jobs)
			if err != nil {
				return nil, err
			}
			return res.Msg, nil
		},
	}.run(ctx, s.router)
}

// queue returns the settings of a queue, as its first partition has committed them. fresh: not
// those that are remembered.
func (s *jobService) queue(ctx context.Context, name string, fresh bool) (*eventspb.JobQueueSettings, error) {
	if !queues.ValidName(name) {
		return nil, invalid("%.100q is not the name of a queue: use 1 to 100 lower-case letters, digits, '.', '_' and '-'; "+
			"the first is a letter or a digit", name)
	}
	s.mu.Lock()
	known, ok := s.settings[name]
	s.mu.Unlock()
	if ok && !fresh && time.Since(known.at) < queueAge {
		return known.JobQueueSettings, nil
	}
	m, err := s.settingsIn(ctx, name, events.QueuePartitions(name, 1, s.partitions())[0])
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, errorf(connect.CodeNotFound, "there is no queue %q: create it, or correct the name", name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.settings) >= maxQueues {
		clear(s.settings)
	}
	s.settings[name] = knownQueue{m, time.Now()}
	return m, nil
}

// settingsIn returns the settings of a queue in a partition, nil if the partition does not have it.
func (s *jobService) settingsIn(ctx context.Context, name string, partition int32) (*eventspb.JobQueueSettings, error) {
	r := &snapshotReader{state: s.router, partition: partition}
	entries, err := r.prefix(ctx, queues.TableSettings, queues.Prefix(nil, name))
	if err != nil {
		return nil, sourceError(err, fmt.Sprintf("queue %q", name))
	}
	if len(entries) == 0 {
		return nil, nil //nolint:nilnil // the partition does not have the queue
	}
	m := &eventspb.JobQueueSettings{}
	if err := proto.Unmarshal(entries[0].Value, m); err != nil {
		return nil, sourceBug("the settings of queue %q: %v", name, err)
	}
	return m, nil
}

// partitionsOf returns the partitions that have a queue.
func (s *jobService) partitionsOf(ctx context.Context, name string) ([]int32, error) {
	m, err := s.queue(ctx, name, false)
	if err != nil {
		return nil, err
	}
	return events.QueuePartitions(name, m.GetPartitions(), s.partitions()), nil
}

// SetQueue creates a queue or changes its settings. weir.proto lists its errors.
func (s *jobService) SetQueue(ctx context.Context,
	req *connect.Request[jobpb.SetQueueRequest],
) (*connect.Response[jobpb.SetQueueResponse], error) {
	if err := s.available(); err != nil {
		return nil, err
	}
	m := req.Msg
	if m.Partition != nil {
		if err := forwardedOnly(ctx); err != nil {
			return nil, err
		}
		return s.setShard(ctx, m)
	}
	if n := m.GetSettings().GetPartitions(); n < 0 || n > s.partitions() {
		return nil, invalid("a queue of %d partitions: jobs.submits has %d", n, s.partitions())
	}
	want := settingsRecord(m.GetSettings())
	before, err := s.queue(ctx, m.GetQueue(), true)
	created := connect.CodeOf(err) == connect.CodeNotFound
	switch {
	case err != nil && !created:
		return nil, err
	case want.GetPartitions() < before.GetPartitions():
		return nil, errorf(connect.CodeFailedPrecondition,
			"queue %q has %d partitions, and would have %d: it cannot shrink, because all of them have jobs", m.GetQueue(),
			before.GetPartitions(), want.GetPartitions())
	}
	list := events.QueuePartitions(m.GetQueue(), want.GetPartitions(), s.partitions())
	version, err := s.nextVersion(ctx, m.GetQueue(), want, list)
	if err != nil {
		return nil, err
	}
	paused := false
	if !created && want.GetPartitions() > before.GetPartitions() { // further partitions are paused as the first one is
		res, err := s.listShard(ctx, m.GetQueue(), list[0])
		if err != nil {
			return nil, err
		}
		paused = len(res.GetQueues()) > 0 && res.GetQueues()[0].GetPaused()
	}
	setOne := func(ctx context.Context, p int32) error {
		_, err := s.setShard(ctx, &jobpb.SetQueueRequest{
			Queue: m.GetQueue(), Settings: m.GetSettings(), Partition: &p, Version: version,
			Paused: paused && slices.Index(list, p) >= int(before.GetPartitions()),
		})
		return err
	}
	// The first partition has the settings by which others find the queue: it gets them last.
	if err := eachPartition(ctx, list[1:], setOne).first(); err != nil {
		return nil, err
	}
	if err := setOne(ctx, list[0]); err != nil {
		return nil, err
	}
	if _, err := s.queue(ctx, m.GetQueue(), true); err != nil {
		return nil, err
	}
	return connect.NewResponse(&jobpb.SetQueueResponse{Version: version, Created: created}), nil
}

// nextVersion returns the version for new settings: the present one if all partitions have them
// already, or else one that is greater than those of all partitions, also after a request that has
// reached some of them.
func (s *jobService) nextVersion(ctx context.Context, name string, want *eventspb.JobQueueSettings,
	list []int32,
) (version uint64, err error) {
	present, failed := collect(ctx, list, func(ctx context.Context, p int32) (*eventspb.JobQueueSettings, error) {
		return s.settingsIn(ctx, name, p)
	})
	if err := failed.first(); err != nil {
		return 0, err
	}
	same := true
	for _, m := range present {
		same = same && m != nil && (version == 0 || m.GetVersion() == version)
		version = max(version, m.GetVersion())
		if m != nil {
			m.Version = 0
			same = same && proto.Equal(m, want)
		}
	}
	if !same {
		version++
	}
	want.Version = version
	return version, nil
}

// forwardedOnly returns an error for a request with a field that processes set when they forward
// one, and that is not forwarded.
func forwardedOnly(ctx context.Context) error {
	if requestMetaOf(ctx).forwarded {
		return nil
	}
	return invalid("processes set partition when they forward a request: omit it")
}

// forwarded answers a request about one partition, which another process has forwarded.
func forwarded[T any](ctx context.Context, answer func() (*T, error)) (*connect.Response[T], error) {
	if err := forwardedOnly(ctx); err != nil {
		return nil, err
	}
	res, err := answer()
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(res), nil
}

// setShard sets the settings of a queue in one partition.
func (s *jobService) setShard(ctx context.Context, m *jobpb.SetQueueRequest) (*connect.Response[jobpb.SetQueueResponse], error) {
	record := settingsRecord(m.GetSettings())
	record.Version = m.GetVersion()
	res, err := shard[jobpb.SetQueueResponse]{
		partition: m.GetPartition(),
		local: func(ctx context.Context) (*jobpb.SetQueueResponse, error) {
			return &jobpb.SetQueueResponse{},
				s.source.Ask(ctx, m.GetPartition(), true, func(q *queues.Shard) error {
					if err := q.Set(m.GetQueue(), record); err != nil || !m.GetPaused() {
						return err
					}
					return q.Pause(m.GetQueue(), false)
				})
		},
		remote: func(ctx context.Context, c jobpbconnect.JobServiceClient) (*connect.Response[jobpb.SetQueueResponse], error) {
			return c.SetQueue(ctx, connect.NewRequest(m))
		},
	}.run(ctx, s)
	if err != nil {
		return nil, jobError(err, fmt.Sprintf("queue %q in partition %d", m.GetQueue(), m.GetPartition()))
	}
	return connect.NewResponse(res), nil
}

// settingsRecord returns the record of settings without their version.
func settingsRecord(m *jobpb.QueueSettings) *eventspb.JobQueueSettings {
	return &eventspb.JobQueueSettings{
		Partitions: max(1, m.GetPartitions()), LeaseMs: m.GetLeaseMs(), MaxAttempts: m.GetMaxAttempts(), BackoffMs: m.GetBackoffMs(),
		MaxBackoffMs: m.GetMaxBackoffMs(), MaxPendingMs: m.GetMaxPendingMs(), AvoidMs: m.GetAvoidMs(), Associations: m.GetAssociations(),
		MaxResources: m.GetMaxResources(), FastestFirst: m.GetFastestFirst(), RetentionMs: m.GetRetentionMs(), MaxJobs: m.GetMaxJobs(),
		WaitTargetMs: m.GetWaitTargetMs(), Events: m.GetEvents(),
	}
}

func settingsOf(m *eventspb.JobQueueSettings) *jobpb.QueueSettings {
	return &jobpb.QueueSettings{
		Partitions: m.GetPartitions(), LeaseMs: m.GetLeaseMs(), MaxAttempts: m.GetMaxAttempts(), BackoffMs: m.GetBackoffMs(),
		MaxBackoffMs: m.GetMaxBackoffMs(), MaxPendingMs: m.GetMaxPendingMs(), AvoidMs: m.GetAvoidMs(), Associations: m.GetAssociations(),
		MaxResources: m.GetMaxResources(), FastestFirst: m.GetFastestFirst(), RetentionMs: m.GetRetentionMs(), MaxJobs: m.GetMaxJobs(),
		WaitTargetMs: m.GetWaitTargetMs(), Events: m.GetEvents(),
	}
}

// ListQueues returns the queues.
func (s *jobService) ListQueues(ctx context.Context,
	req *connect.Request[jobpb.ListQueuesRequest],
) (*connect.Response[jobpb.ListQueuesResponse], error) {
	if err := s.available(); err != nil {
		return nil, err
	}
	m := req.Msg
	if m.Partition != nil {
		return forwarded(ctx, func() (*jobpb.ListQueuesResponse, error) { return s.listShard(ctx, m.GetQueue(), m.GetPartition()) })
	}
	var partitions []int32
	if m.GetQueue() != "" {
		var err error
		if partitions, err = s.partitionsOf(ctx, m.GetQueue()); err != nil {
			return nil, err
		}
	} else {
		for p := range s.partitions() {
			partitions = append(partitions, p)
		}
	}
	found, failed := collect(ctx, partitions, func(ctx context.Context, p int32) (*jobpb.ListQueuesResponse, error) {
		return s.listShard(ctx, m.GetQueue(), p)
	})
	unread := failed.sorted()
	for _, p := range unread {
		if err := failed[p]; connect.CodeOf(err) != connect.CodeUnavailable {
			return nil, err
		}
	}
	all := map[string]*jobpb.Queue{}
	for _, res := range found {
		for _, q := range res.GetQueues() {
			if sum := all[q.GetName()]; sum != nil {
				addQueue(sum, q)
			} else {
				all[q.GetName()] = q
			}
		}
	}
	out := &jobpb.ListQueuesResponse{Unread: unread}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		q := all[name]
		for _, p := range events.QueuePartitions(name, q.GetSettings().GetPartitions(), s.partitions()) {
			if slices.Contains(unread, p) {
				q.Unread = append(q.Unread, p)
			}
		}
		out.Queues = append(out.Queues, q)
	}
	if len(out.GetQueues()) == 0 && len(unread) > 0 {
		return nil, errorf(connect.CodeUnavailable, "no queue can be read: partitions %v have no owner now: try again in a moment", unread)
	}
	return connect.NewResponse(out), nil
}

// addQueue adds a partition of a queue.
func addQueue(sum, q *jobpb.Queue) {
	sum.Paused = sum.GetPaused() && q.GetPaused()
	sum.Agents += q.GetAgents()
	sum.OldestMs, sum.Alarms = max(sum.GetOldestMs(), q.GetOldestMs()), sum.GetAlarms()+q.GetAlarms()
	if q.GetVersion() > sum.GetVersion() {
		sum.Version, sum.Settings = q.GetVersion(), q.GetSettings()
	}
	a, b := sum.GetJobs(), q.GetJobs()
	a.Delayed, a.Blocked, a.Pending = a.GetDelayed()+b.GetDelayed(), a.GetBlocked()+b.GetBlocked(), a.GetPending()+b.GetPending()
	a.Running, a.Done = a.GetRunning()+b.GetRunning(), a.GetDone()+b.GetDone()
	a.Failed, a.Canceled = a.GetFailed()+b.GetFailed(), a.GetCanceled()+b.GetCanceled()
}

// listShard returns the queues of one partition.
func (s *jobService) listShard(ctx context.Context, name string, partition int32) (*jobpb.ListQueuesResponse, error) {
	res, err := shard[jobpb.ListQueuesResponse]{
		partition: partition,
		local: func(context.Context) (*jobpb.ListQueuesResponse, error) {
			shown, err := s.source.Shown(partition)
			if err != nil {
				return nil, err
			}
			r := &jobpb.ListQueuesResponse{}
			for _, x := range shown.Queues() {
				if name == "" || x.Name == name {
					r.Queues = append(r.Queues, newQueue(x))
				}
			}
			return r, nil
		},
		remote: func(ctx context.Context, c jobpbconnect.JobServiceClient) (*connect.Response[jobpb.ListQueuesResponse], error) {
			return c.ListQueues(ctx, connect.NewRequest(&jobpb.ListQueuesRequest{Queue: name, Partition: &partition}))
		},
	}.run(ctx, s)
	return res, jobError(err, fmt.Sprintf("partition %d of the job queues", partition))
}

func newQueue(q *queues.Queue) *jobpb.Queue {
	n := &q.Jobs
	alarms := 0
	for _, k := range q.Alarms {
		alarms += k
	}
	return &jobpb.Queue{
		Name: q.Name, Version: q.Settings.GetVersion(), Settings: settingsOf(q.Settings), Paused: q.Paused, Agents: int32(q.Agents),
		OldestMs: q.OldestMs, Alarms: int32(alarms),
		Jobs: &jobpb.JobCounts{Delayed: n[1], Blocked: n[2], Pending: n[3], Running: n[4], Done: n[5], Failed: n[6], Canceled: n[7]},
	}
}

// PauseQueue pauses or resumes a queue.
func (s *jobService) PauseQueue(ctx context.Context,
	req *connect.Request[jobpb.PauseQueueRequest],
) (*connect.Response[jobpb.PauseQueueResponse], error) {
	if err := s.available(); err != nil {
		return nil, err
	}
	m := req.Msg
	if m.GetResume() && m.GetPullback() {
		return nil, invalid("resume and pullback contradict each other: set one of them")
	}
	list := []int32{m.GetPartition()}
	if m.Partition == nil {
		settings, err := s.queue(ctx, m.GetQueue(), true) // all of them, also those that were added just now
		if err != nil {
			return nil, err
		}
		list = events.QueuePartitions(m.GetQueue(), settings.GetPartitions(), s.partitions())
	} else if err := forwardedOnly(ctx); err != nil {
		return nil, err
	}
	failed := eachPartition(ctx, list, func(ctx context.Context, p int32) error {
		_, err := shard[jobpb.PauseQueueResponse]{
			partition: p,
			local: func(ctx context.Context) (*jobpb.PauseQueueResponse, error) {
				return &jobpb.PauseQueueResponse{}, s.source.Ask(ctx, p, true, func(q *queues.Shard) error {
					if m.GetResume() {
						return q.Resume(m.GetQueue())
					}
					return q.Pause(m.GetQueue(), m.GetPullback())
				})
			},
			remote: func(ctx context.Context, c jobpbconnect.JobServiceClient) (*connect.Response[jobpb.PauseQueueResponse], error) {
				m := proto.CloneOf(m)
				m.Partition = &p
				return c.PauseQueue(ctx, connect.NewRequest(m))
			},
		}.run(ctx, s)
		return err
	})
	if err := failed.join(); err != nil {
		return nil, jobError(err, fmt.Sprintf("queue %q", m.GetQueue()))
	}
	return connect.NewResponse(&jobpb.PauseQueueResponse{}), nil
}

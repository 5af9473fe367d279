package offline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/changelog"
	"github.com/weirhq/weir/processors/internal/failpoint"
	"github.com/weirhq/weir/processors/internal/group"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/internal/topics"
	"github.com/weirhq/weir/processors/internal/txn"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// ErrInUse reports that the group of an application has members. Its state can be changed only
// while no process runs it.
var ErrInUse = errors.New("the application runs")

// exclusiveMember is the only member of an application's group. While it is in the group, no
// process can run the application: processes that start cannot join, and wait. It writes to the
// changelog in place of the owners and is fenced like an owner: when it is no longer in the group,
// its transactions cannot commit.
type exclusiveMember struct {
	cfg        *processors.Config
	proc       *stream.Processor
	sess       *kgo.GroupTransactSession
	adm        *kadm.Client
	partitions int32             // of the processor
	ids        map[string][]byte // topic ids

	mu       sync.Mutex
	assigned []int32
	refused  error // the brokers do not let this user into the group
	changed  chan struct{}
}

// exclusiveProtocol is a group protocol that the processes of an application do not support, so the
// brokers do not let them into the group of the exclusive member. It assigns the partitions that
// the runtime would assign: not those that an administrator has added.
type exclusiveProtocol struct{ group.Assignor }

// newExclusiveProtocol returns the protocol for the first partitions of the inputs of proc.
func newExclusiveProtocol(proc *stream.Processor, partitions int32) exclusiveProtocol {
	return exclusiveProtocol{group.Assignor{
		Inputs: proc.Inputs, Partitions: partitions,
		MemberMetadata: func() *changelogpb.Member { return &changelogpb.Member{} },
		OnAssignment:   func([]int32, *changelogpb.WorkerAssignment) {},
	}}
}

// ProtocolName implements kgo.GroupBalancer.
func (exclusiveProtocol) ProtocolName() string { return "weir-offline" }

// IsCooperative implements kgo.GroupBalancer. There is no other member to cooperate with.
func (exclusiveProtocol) IsCooperative() bool { return false }

// minTransactionTimeout is the least transaction timeout of offline work, which writes large
// transactions.
const minTransactionTimeout = time.Minute

// joinExclusive joins the group of proc. It returns ErrInUse if the group has members.
func joinExclusive(ctx context.Context, cfg *processors.Config, proc *stream.Processor) (h *exclusiveMember, err error) {
	h = &exclusiveMember{cfg: cfg, proc: proc, changed: make(chan struct{}, 1)}
	txnID, timeout := proc.App+"-offline", max(cfg.TransactionTimeout, minTransactionTimeout)
	plain, err := cfg.Kafka.Connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to the brokers: %w", err)
	}
	defer plain.Close()
	count, err := topics.Await(ctx, proc, kadm.NewClient(plain))
	if err != nil {
		return nil, err
	}
	h.partitions = count.Tasks
	if h.ids, err = changelog.TopicIDs(ctx, proc, kadm.NewClient(plain)); err != nil {
		return nil, err
	}
	if err := ensureGroupEmpty(ctx, kadm.NewClient(plain), proc.App); err != nil {
		return nil, err
	}
	if err := txn.EndOpen(ctx, plain, txnID, timeout); err != nil {
		return nil, err
	}
	h.sess, err = kgo.NewGroupTransactSession(append([]kgo.Opt{
		kgo.SeedBrokers(cfg.Kafka.Brokers...), kgo.ClientID("weir"), kgo.ConsumerGroup(proc.App), kgo.ConsumeTopics(proc.Inputs...),
		kgo.TransactionalID(txnID), kgo.TransactionTimeout(timeout), kgo.Balancers(newExclusiveProtocol(proc, h.partitions)),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.SessionTimeout(cfg.SessionTimeout), kgo.HeartbeatInterval(cfg.SessionTimeout / 6),
		kgo.ProducerBatchMaxBytes(1 << 20), kgo.MaxBufferedBytes(64 << 20), kgo.MaxBufferedRecords(1 << 18),
		kgo.ProducerBatchCompression(kgo.Lz4Compression(), kgo.NoCompression()), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, got map[string][]int32) { h.setAssigned(group.Partitions(got)) }),
		kgo.OnPartitionsRevoked(func(context.Context, *kgo.Client, map[string][]int32) { h.setAssigned(nil) }),
		kgo.WithHooks(h), kgo.OnPartitionsLost(func(context.Context, *kgo.Client, map[string][]int32) { h.setAssigned(nil) }),
	}, cfg.Kafka.Options...)...)
	if err != nil {
		return nil, fmt.Errorf("start session: %w", err)
	}
	h.sess.Client().PauseFetchTopics(proc.Inputs...)
	h.adm = kadm.NewClient(h.sess.Client())
	if err := h.awaitAssignment(ctx); err != nil {
		h.release()
		return nil, err
	}
	return h, nil
}

// ensureGroupEmpty returns ErrInUse, with the members, for a group that has some.
func ensureGroupEmpty(ctx context.Context, adm *kadm.Client, app string) error {
	members, err := group.DescribeMembers(ctx, adm, app)
	if err != nil {
		return err
	}
	var who []string
	for _, m := range members {
		id := m.MemberID
		if m.InstanceID != nil {
			id = *m.InstanceID
		}
		who = append(who, id)
	}
	if len(who) > 0 {
		return fmt.Errorf(
			"%w: group %s has members %v: stop every process of the application. A killed process remains a member until its session timeout", ErrInUse, app, who)
	}
	return nil
}

func (h *exclusiveMember) setAssigned(have []int32) { h.update(func() { h.assigned = have }) }

// OnGroupManageError implements kgo.HookGroupManageError. The client joins again after every error.
func (h *exclusiveMember) OnGroupManageError(err error) {
	if errors.Is(err, kerr.GroupAuthorizationFailed) {
		h.update(func() { h.refused = fmt.Errorf("the user needs the right Read of group %s: %w", h.proc.App, err) })
	}
}

// update changes what awaitAssignment waits for.
func (h *exclusiveMember) update(change func()) {
	h.mu.Lock()
	change()
	h.mu.Unlock()
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// joinLimit bounds the wait for the group.
const joinLimit = 30 * time.Second

// awaitAssignment waits until every partition is assigned to this member.
func (h *exclusiveMember) awaitAssignment(ctx context.Context) error {
	limit := time.NewTimer(joinLimit)
	defer limit.Stop()
	for {
		h.mu.Lock()
		have, refused := len(h.assigned), h.refused
		h.mu.Unlock()
		if have == int(h.partitions) || refused != nil {
			return refused
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-limit.C:
			return fmt.Errorf(
				"%w: group %s assigned %d of %d partitions within %s: stop every process of the application, also processes that have just started, and try again", ErrInUse, h.proc.App, have, h.partitions, joinLimit)
		case <-h.changed:
		}
	}
}

// release leaves the group.
func (h *exclusiveMember) release() { h.sess.Client().Close() }

// write writes changes and a marker to the changelog of partition p, and the marker's positions to
// the group, in one transaction. After an error the transaction may have been committed. The
// operation that is called again reads the changelog, and so finds out.
func (h *exclusiveMember) write(ctx context.Context, p int32, m *changelogpb.Marker, changes store.RecordSource) error {
	return h.commit(ctx, map[int32]*changelogpb.Marker{p: m}, func(send func(int32, []byte, []byte) error) error {
		return changes(func(k, v []byte) error { return send(p, k, v) })
	})
}

// writeMarkers is write of several partitions without changes.
func (h *exclusiveMember) writeMarkers(ctx context.Context, markers map[int32]*changelogpb.Marker) error {
	if len(markers) == 0 {
		return nil
	}
	return h.commit(ctx, markers, func(func(int32, []byte, []byte) error) error { return nil })
}

// confirmMarkers is writeMarkers for markers on which another application depends. Brokers can
// commit a transaction in part, so it reads the markers back, and writes those again that a
// partition lacks.
func (h *exclusiveMember) confirmMarkers(ctx context.Context, markers map[int32]*changelogpb.Marker) error {
	for range 3 {
		if len(markers) == 0 {
			return nil
		}
		ends, err := h.adm.ListEndOffsets(ctx, h.proc.Changelog)
		if err == nil {
			err = ends.Error()
		}
		if err != nil {
			return fmt.Errorf("read the end offsets of %s: %w", h.proc.Changelog, err)
		}
		if err := h.writeMarkers(ctx, markers); err != nil {
			return err
		}
		if markers, err = h.lacking(ctx, markers, ends); err != nil {
			return err
		}
		for p := range markers {
			h.cfg.Log.Error().Str("topic", h.proc.Changelog).Int32("partition", p).Msg("marker_written_again")
		}
	}
	if len(markers) == 0 {
		return nil
	}
	return fmt.Errorf(
		"write to %s: the brokers have committed the transaction in part, in each of three attempts: try again; committed records are not written twice", h.proc.Changelog)
}

// readBackLimit bounds the search for what was just written.
const readBackLimit = time.Minute

// lacking returns those of the markers that are not in the changelog behind the offsets from.
func (h *exclusiveMember) lacking(ctx context.Context, markers map[int32]*changelogpb.Marker,
	from kadm.ListedOffsets,
) (map[int32]*changelogpb.Marker, error) {
	tokens, err := h.barriers(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, readBackLimit)
	defer cancel()
	out := maps.Clone(markers)
	for p, want := range markers {
		start, _ := from.Lookup(h.proc.Changelog, p)
		at := kafka.Position{Topic: h.proc.Changelog, Partition: p, Offset: start.Offset}
		err := changelog.ReadPartition(ctx, h.cfg.Kafka, at, func(r *kgo.Record) error {
			if r.Attrs.IsControl() || !changelogpb.IsSystem(r.Key) {
				return nil
			}
			switch string(r.Key[1:]) {
			case changelogpb.MarkerKey:
				got, err := changelogpb.Decode(r.Value, &changelogpb.Marker{}, "marker")
				if err == nil && proto.Equal(got, want) {
					delete(out, p)
				}
				return err
			case changelogpb.BarrierKey:
				b, err := changelogpb.Decode(r.Value, &changelogpb.Barrier{}, "barrier")
				if err == nil && b.Token == tokens[p] {
					err = changelog.ErrEnd
				}
				return err
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read %s[%d] back from offset %d: %w: try again; committed records are not written twice", at.Topic, p,
				at.Offset, err)
		}
	}
	return out, nil
}

// commit writes changes, and then the markers, by partition. The offsets of the markers fence the
// transaction: the brokers check the membership where they take offsets.
func (h *exclusiveMember) commit(ctx context.Context, markers map[int32]*changelogpb.Marker,
	changes func(send func(p int32, key, value []byte) error) error,
) error {
	fence := func(req *kmsg.TxnOffsetCommitRequest) error {
		req.Topics = nil
		for p, m := range markers {
			note := changelogpb.Note{
				Transaction: changelogpb.CommitMetadata(m), Changelog: h.proc.Changelog, Partitions: h.partitions,
			}.String()
			for _, in := range m.Inputs {
				txn.AddOffset(req, in.Topic, p, in.Next, note)
			}
		}
		return nil
	}
	return h.transact(kgo.PreTxnCommitFnContext(ctx, fence), func(send func(int32, []byte, []byte) error) error {
		if err := changes(send); err != nil {
			return err
		}
		for p, m := range markers {
			value, err := proto.Marshal(m)
			if err != nil {
				return fmt.Errorf("encode marker: %w", err)
			}
			if err := send(p, changelogpb.SystemKey(changelogpb.MarkerKey), value); err != nil {
				return err
			}
		}
		return nil
	})
}

// barriers writes a barrier to each partition and returns their tokens. A reader that has read a
// barrier has read every transaction before it.
func (h *exclusiveMember) barriers(ctx context.Context) (tokens map[int32]string, err error) {
	tokens = map[int32]string{}
	none := func(req *kmsg.TxnOffsetCommitRequest) error { req.Topics = nil; return nil }
	return tokens, h.transact(kgo.PreTxnCommitFnContext(ctx, none), func(send func(int32, []byte, []byte) error) error {
		for p := range h.partitions {
			tokens[p] = fmt.Sprintf("%s-offline-0/%d/%d", h.proc.App, p, time.Now().UnixNano()) // in the format of owners
			value, err := proto.Marshal(&changelogpb.Barrier{Token: tokens[p]})
			if err != nil {
				return fmt.Errorf("encode barrier: %w", err)
			}
			if err := send(p, changelogpb.SystemKey(changelogpb.BarrierKey), value); err != nil {
				return err
			}
		}
		return nil
	})
}

// transact runs one transaction on the changelog.
func (h *exclusiveMember) transact(ctx context.Context, body func(send func(p int32, key, value []byte) error) error) error {
	if err := h.sess.Begin(); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	began, count := time.Now(), 0
	promise := kgo.AbortingFirstErrPromise(h.sess.Client())
	err := body(func(p int32, key, value []byte) error {
		count++
		h.sess.Client().Produce(ctx, &kgo.Record{Topic: h.proc.Changelog, Partition: p, Key: slices.Clone(key), Value: bytes.Clone(value)},
			promise.Promise())
		return ctx.Err()
	})
	err = errors.Join(err, promise.Err())
	if err == nil {
		err = failpoint.Hit(ctx, failpoint.OfflineProduced)
	}
	want := kgo.TryCommit
	if err != nil {
		want = kgo.TryAbort
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	committed, ended := h.sess.End(end, want)
	switch {
	case err != nil:
		return fmt.Errorf("write to %s: %w: nothing was committed", h.proc.Changelog, errors.Join(err, ended))
	case ended != nil:
		return fmt.Errorf("write to %s: the outcome of the transaction is unknown: %w: try again; committed records are not written twice",
			h.proc.Changelog, ended)
	case !committed:
		return fmt.Errorf(
			"write to %s: the brokers aborted the transaction of %d records after %s, because a process of %s has joined the group, or because it took longer than the transaction timeout %s: nothing was committed; stop such a process, or raise the transaction timeout", h.proc.Changelog, count, time.Since(began).Round(time.Millisecond), h.proc.App, max(h.cfg.TransactionTimeout, minTransactionTimeout))
	}
	return failpoint.Hit(ctx, failpoint.OfflineCommitted)
}

// newMarker returns the marker of a transaction that rewrites the state. last is the marker before
// it; nil in a new changelog.
func (h *exclusiveMember) newMarker(last *changelogpb.Marker, next map[string]int64) *changelogpb.Marker {
	m := &changelogpb.Marker{
		Incarnation: last.GetIncarnation(), Sequence: last.GetSequence() + 1, OwnerEpoch: last.GetOwnerEpoch() + 1,
		WrittenAtMs: time.Now().UnixMilli(), Rewritten: true,
		WatermarkMs: last.GetWatermarkMs(), Skips: last.GetSkips(), MovedTo: last.GetMovedTo(),
	}
	for _, topic := range h.proc.Inputs {
		m.Inputs = append(m.Inputs, &changelogpb.Position{Topic: topic, TopicId: h.ids[topic], Next: next[topic]})
	}
	return m
}

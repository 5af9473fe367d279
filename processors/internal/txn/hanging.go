package txn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors/kafka"
)

// Recovery ends transactions that no process works on and that block the readers of an application.
type Recovery struct {
	Kafka          kafka.Cluster // makes the client that ends hanging transactions by its own requests
	Client         *kgo.Client   // sends the queries
	App, Changelog string
	Topics         []string // written by the application, its changelog included
	TxnID          string   // of the worker that runs the recovery
	Timeout        time.Duration
	Log            zerolog.Logger
	Searching      *sync.Mutex // held while a worker of the process runs a recovery
}

// hangingTxn is a hanging transaction: it has ended, and these partitions still have it open.
type hangingTxn struct {
	txnID  string
	commit bool // its coordinator committed it
	parts  kadm.TopicsSet
}

// EndHanging ends the hanging transactions of this application. It does nothing while another
// worker of the process runs a recovery.
func (r *Recovery) EndHanging(ctx context.Context) error {
	if !r.Searching.TryLock() {
		return nil
	}
	defer r.Searching.Unlock()
	list, err := r.findHanging(ctx, kadm.NewClient(r.Client))
	for _, h := range list {
		err = errors.Join(err, r.end(ctx, &h))
	}
	return err
}

func (r *Recovery) end(ctx context.Context, h *hangingTxn) error {
	if err := h.end(ctx, r.Kafka, r.App, r.Timeout); err != nil {
		return err
	}
	r.Log.Warn().Str("transactional_id", h.txnID).Bool("commit", h.commit).Any("partitions", h.parts).Msg("hanging_transaction_ended")
	return nil
}

// findHanging finds the hanging transactions. A transaction counts only if a partition has it open
// both before and after its coordinator reports that it has ended: otherwise its markers may be on
// their way.
func (r *Recovery) findHanging(ctx context.Context, adm *kadm.Client) ([]hangingTxn, error) {
	before, _, err := r.openTransactions(ctx, adm)
	if len(before) == 0 {
		return nil, err
	}
	ids, err := adm.ListTransactions(ctx, nil, endedStates())
	if err != nil {
		return nil, fmt.Errorf("list transactions: %w", err)
	}
	var ours []string
	for _, id := range ids.TransactionalIDs() {
		if strings.HasPrefix(id, r.App+"-") {
			ours = append(ours, id)
		}
	}
	if len(ours) == 0 {
		return nil, nil
	}
	done, err := adm.DescribeTransactions(ctx, ours...)
	if err != nil {
		return nil, fmt.Errorf("describe transactions: %w", err)
	}
	after, _, err := r.openTransactions(ctx, adm)
	if after == nil {
		return nil, err
	}
	var list []hangingTxn
	for _, tx := range done.Sorted() {
		h := hangingTxn{txnID: tx.TxnID, parts: kadm.TopicsSet{}, commit: tx.State == completeCommit}
		for open := range after {
			if before[open] && open.ProducerID == tx.ProducerID {
				h.parts.Add(open.Topic, open.Partition)
				// The coordinator may have begun another transaction since. Then the outcome of
				// this one is unknown.
				h.commit = h.commit && tx.ProducerEpoch-open.ProducerEpoch <= 1
			}
		}
		if slices.Contains(endedStates(), tx.State) && len(h.parts) > 0 {
			list = append(list, h)
		}
	}
	return list, nil
}

// States of a transaction at its coordinator.
const (
	ongoing        = "Ongoing"
	completeCommit = "CompleteCommit"
)

// endedStates returns the states in which a coordinator has ended a transaction.
func endedStates() []string { return []string{completeCommit, "CompleteAbort", "Empty"} }

// offsetsTopic is the internal topic for the offsets of groups.
const offsetsTopic = "__consumer_offsets"

// openTransactions returns the open transactions that block readers of the application's topics or
// of a group's offsets. With an error it returns those that it knows, nil if it knows nothing.
// unseen means that a partition has not answered that may answer later.
func (r *Recovery) openTransactions(ctx context.Context, adm *kadm.Client) (open map[kadm.DescribedProducer]bool, unseen bool, err error) {
	list, err := adm.ListTopics(ctx, append([]string{offsetsTopic}, r.Topics...)...)
	if err != nil {
		return nil, Transient(err), fmt.Errorf("read topics: %w", err)
	}
	open = map[kadm.DescribedProducer]bool{}
	failed := func(e error) {
		unseen, err = unseen || Transient(e), cmp.Or(err, fmt.Errorf("describe producers: %w", e))
	}
	req := kmsg.NewPtrDescribeProducersRequest()
	for _, t := range list {
		if t.Err != nil {
			if t.Topic != offsetsTopic { // which may not exist; others a broker may not know after its start
				failed(fmt.Errorf("%s: %w", t.Topic, t.Err))
			}
			continue
		}
		rt := kmsg.NewDescribeProducersRequestTopic()
		rt.Topic, rt.Partitions = t.Topic, t.Partitions.Numbers()
		req.Topics = append(req.Topics, rt)
	}
	for _, shard := range r.Client.RequestSharded(ctx, req) {
		resp, ok := shard.Resp.(*kmsg.DescribeProducersResponse)
		if !ok {
			failed(shard.Err)
			continue
		}
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				if e := kerr.ErrorForCode(p.ErrorCode); e != nil {
					failed(fmt.Errorf("%s[%d]: %w", t.Topic, p.Partition, e))
				}
				for _, d := range p.ActiveProducers {
					if d.CurrentTxnStartOffset >= 0 {
						open[kadm.DescribedProducer{
							Topic: t.Topic, Partition: p.Partition, ProducerID: d.ProducerID, ProducerEpoch: int16(d.ProducerEpoch),
							LastSequence: d.LastSequence, CurrentTxnStartOffset: d.CurrentTxnStartOffset,
						}] = true
					}
				}
			}
		}
	}
	return open, unseen, err
}

// end adds the partitions and the group to an empty transaction of the same producer and ends that
// transaction: its markers end the hanging transaction, too. A worker that runs under the id is
// fenced and starts its session again.
func (h *hangingTxn) end(ctx context.Context, k kafka.Cluster, group string, timeout time.Duration) error {
	v := kversion.Stable() // in later versions the brokers send these requests themselves
	v.SetMaxKeyVersion(int16(kmsg.AddPartitionsToTxn), 3)
	v.SetMaxKeyVersion(int16(kmsg.EndTxn), 4)
	cl, err := k.Client(kgo.MaxVersions(v))
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	defer cl.Close()
	id, err := initProducer(ctx, cl, h.txnID, timeout)
	if err != nil {
		return err
	}
	// initProducer makes the coordinator forget the outcome. So the end of ctx does not stop the
	// requests that follow at once, and a failed request is repeated with the same producer id and
	// epoch.
	ctx, cancel := outlive(ctx, endGrace)
	defer cancel()
	for {
		if err = h.endBy(ctx, cl, id, group); err == nil || !Away(err) || !pause.For(ctx, 100*time.Millisecond) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("end the hanging transaction of %s: %w", h.txnID, err)
	}
	return nil
}

// endGrace is for how long the end of a hanging transaction continues after its context has ended.
const endGrace = 3 * time.Second

// outlive returns a context that ends grace after ctx.
func outlive(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		pause.For(longer, grace)
		cancel()
	})
	return longer, func() {
		stop()
		cancel()
	}
}

// endBy ends the transaction as a producer.
func (h *hangingTxn) endBy(ctx context.Context, cl *kgo.Client, id *kmsg.InitProducerIDResponse, group string) error {
	if err := h.addPartitions(ctx, cl, id); err != nil {
		return err
	}
	if h.parts[offsetsTopic] != nil {
		req := kmsg.NewPtrAddOffsetsToTxnRequest()
		req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = h.txnID, id.ProducerID, id.ProducerEpoch, group
		resp, err := req.RequestWith(ctx, cl)
		if err == nil {
			err = kerr.ErrorForCode(resp.ErrorCode)
		}
		if err != nil {
			return err
		}
	}
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = h.txnID, id.ProducerID, id.ProducerEpoch, h.commit
	resp, err := req.RequestWith(ctx, cl)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	return err
}

func (h *hangingTxn) addPartitions(ctx context.Context, cl *kgo.Client, id *kmsg.InitProducerIDResponse) error {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = h.txnID, id.ProducerID, id.ProducerEpoch
	for _, t := range h.parts.IntoList() {
		if t.Topic != offsetsTopic { // addressed by the group, not by partition
			rt := kmsg.NewAddPartitionsToTxnRequestTopic()
			rt.Topic, rt.Partitions = t.Topic, t.Partitions
			req.Topics = append(req.Topics, rt)
		}
	}
	if len(req.Topics) == 0 {
		return nil
	}
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			err = errors.Join(err, kerr.ErrorForCode(p.ErrorCode))
		}
	}
	return err
}

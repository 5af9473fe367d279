package processors

import (
	"context"
	"errors"
	"fmt"
	"github.com/rs/zerolog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// slow is how long a takeover may take before it looks for what holds it.
const slow = 2 * time.Second

// watch ends transactions that hold the takeover back, until ctx ends. A transaction hangs if its coordinator is done with
// it and a partition is not: a broker that restarts without other replicas leaves out markers (KAFKA-20734). Until the same
// producer writes to the partition again, nobody reads past it, and a group's offsets stay unstable.
func (r *restorer) watch(ctx context.Context) {
	if pause(ctx, slow/8); ctx.Err() != nil {
		return
	}
	for {
		if err := r.w.recovery().adoptOrphans(ctx); err != nil && ctx.Err() == nil {
			r.w.log.Warn().Err(err).Msg("look_for_orphaned_transactions_failed")
		}
		if pause(ctx, slow); ctx.Err() != nil {
			return
		}
		r.w.log.Warn().Int32("partition", r.p).Str("waits_for", *r.waits.Load()).Msg("takeover_slow")
		if err := r.w.recovery().unhang(ctx); err != nil && ctx.Err() == nil {
			r.w.log.Warn().Err(err).Msg("look_for_hanging_transactions_failed")
		}
	}
}

// recovery is what a worker ends transactions with that hold readers of its application back.
func (w *worker) recovery() *recovery {
	return &recovery{
		kafka: w.cfg.Kafka, client: w.plain, app: w.proc.App, changelog: w.proc.Changelog,
		outputs: append([]string{w.proc.DLQ}, w.proc.Outputs...), txnID: w.txnID, timeout: w.cfg.TransactionTimeout, log: w.log, one: w.searching,
	}
}

// recovery ends transactions that nobody is at work on any more and that hold readers of an application back.
type recovery struct {
	kafka          Kafka       // for what the client must not do by itself
	client         *kgo.Client // asks
	app, changelog string
	outputs        []string // that the application writes beside its changelog
	txnID          string   // our own
	timeout        time.Duration
	log            zerolog.Logger
	one            *sync.Mutex // one worker of a process looks at a time
}

// hanging is one transaction and the partitions where it is open although it has ended.
type hanging struct {
	txnID  string
	commit bool // its coordinator committed it
	parts  kadm.TopicsSet
}

// unhang ends the hanging transactions of this application, one worker at a time.
func (r *recovery) unhang(ctx context.Context) error {
	if !r.one.TryLock() {
		return nil
	}
	defer r.one.Unlock()
	list, err := r.hanging(ctx, kadm.NewClient(r.client))
	for _, h := range list {
		r.log.Warn().Str("transactional_id", h.txnID).Bool("commit", h.commit).Any("partitions", h.parts).Msg("hanging_transaction_ended")
		err = errors.Join(err, h.end(ctx, r.kafka, r.app, r.timeout))
	}
	return err
}

// hanging finds them. One that is open before and after its coordinator said that it was done is not just about to end.
func (r *recovery) hanging(ctx context.Context, adm *kadm.Client) ([]hanging, error) {
	before, err := r.openTransactions(ctx, adm)
	if err != nil || len(before) == 0 {
		return nil, err
	}
	ids, err := adm.ListTransactions(ctx, nil, over())
	if err != nil {
		return nil, fmt.Errorf("list transactions: %w", err)
	}
	var ours []string
	for _, id := range ids.TransactionalIDs() {
		if strings.HasPrefix(id, r.app+"-") {
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
	after, err := r.openTransactions(ctx, adm)
	if err != nil {
		return nil, err
	}
	var list []hanging
	for _, tx := range done.Sorted() {
		h := hanging{txnID: tx.TxnID, parts: kadm.TopicsSet{}, commit: tx.State == "CompleteCommit"}
		for open := range after {
			if before[open] && open.ProducerID == tx.ProducerID {
				h.parts.Add(open.Topic, open.Partition)
				// The coordinator may have gone on since; then nobody knows any more how this one ended.
				h.commit = h.commit && tx.ProducerEpoch-open.ProducerEpoch <= 1
			}
		}
		if slices.Contains(over(), tx.State) && len(h.parts) > 0 {
			list = append(list, h)
		}
	}
	return list, nil
}

// over are the states in which a coordinator is done with a transaction.
func over() []string { return []string{"CompleteCommit", "CompleteAbort", "Empty"} }

// offsetsTopic is where the brokers keep the offsets of groups.
const offsetsTopic = "__consumer_offsets"

// openTransactions are those that hold back readers of the application's topics, or of a group's offsets.
func (r *recovery) openTransactions(ctx context.Context, adm *kadm.Client) (map[kadm.DescribedProducer]bool, error) {
	list, err := adm.ListTopics(ctx, append([]string{r.changelog, offsetsTopic}, r.outputs...)...)
	if err != nil {
		return nil, fmt.Errorf("read topics: %w", err)
	}
	maps.DeleteFunc(list, func(_ string, t kadm.TopicDetail) bool { return t.Err != nil })
	got, err := adm.DescribeProducers(ctx, list.TopicsSet())
	if err != nil {
		return nil, fmt.Errorf("describe producers: %w", err)
	}
	open := map[kadm.DescribedProducer]bool{}
	got.EachProducer(func(d kadm.DescribedProducer) {
		if d.CurrentTxnStartOffset >= 0 {
			open[d] = true
		}
	})
	return open, nil
}

// end makes the partitions and the group part of a transaction that writes nothing, and ends that: its markers end what
// the same producer left open. A worker that lives under the id is fenced and begins anew.
func (h *hanging) end(ctx context.Context, k Kafka, group string, timeout time.Duration) error {
	v := kversion.Stable() // later versions leave these requests to the brokers
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
	err = h.addPartitions(ctx, cl, id)
	if err == nil && h.parts[offsetsTopic] != nil {
		req := kmsg.NewPtrAddOffsetsToTxnRequest()
		req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = h.txnID, id.ProducerID, id.ProducerEpoch, group
		var resp *kmsg.AddOffsetsToTxnResponse
		if resp, err = req.RequestWith(ctx, cl); err == nil {
			err = kerr.ErrorForCode(resp.ErrorCode)
		}
	}
	if err == nil {
		req := kmsg.NewPtrEndTxnRequest()
		req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = h.txnID, id.ProducerID, id.ProducerEpoch, h.commit
		var resp *kmsg.EndTxnResponse
		if resp, err = req.RequestWith(ctx, cl); err == nil {
			err = kerr.ErrorForCode(resp.ErrorCode)
		}
	}
	if err != nil {
		return fmt.Errorf("end the hanging transaction of %s: %w", h.txnID, err)
	}
	return nil
}

func (h *hanging) addPartitions(ctx context.Context, cl *kgo.Client, id *kmsg.InitProducerIDResponse) error {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = h.txnID, id.ProducerID, id.ProducerEpoch
	for _, t := range h.parts.IntoList() {
		if t.Topic != offsetsTopic { // that one goes by the group
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

package processors

import (
	"context"
	"slices"
	"time"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors/internal/txn"
	"github.com/weirhq/weir/processors/kafka"
)

// slowTakeover is the duration after which a takeover looks for hanging transactions.
const slowTakeover = 2 * time.Second

// watch ends transactions that delay the takeover, until ctx ends. A transaction hangs if its
// coordinator has ended it and a partition still has it open: a broker that restarts without other
// replicas can lose the markers (KAFKA-20734). Until the same producer writes to the partition
// again, no read_committed reader passes it, and the group's offsets stay unstable. Until the end
// of the takeover, watch logs what it waits for.
func (r *restorer) watch(ctx context.Context) {
	if pause.For(ctx, slowTakeover/8); ctx.Err() != nil {
		return
	}
	for {
		if !r.tailRead.Load() { // else no open transaction delays the rest
			if err := r.w.recovery().EndOrphaned(ctx); err != nil && ctx.Err() == nil {
				r.w.log.Warn().Err(err).Msg("orphaned_transaction_scan_failed")
			}
		}
		if pause.For(ctx, slowTakeover); ctx.Err() != nil {
			return
		}
		r.w.log.Warn().Int32("partition", r.p).Str("waits_for", *r.waitReason.Load()).Msg("takeover_slow")
		if r.tailRead.Load() {
			continue
		}
		if err := r.w.recovery().EndHanging(ctx); err != nil && ctx.Err() == nil {
			r.w.log.Warn().Err(err).Msg("hanging_transaction_scan_failed")
		}
	}
}

// hangingDelay is the time from the start of a session to its look for hanging transactions, and
// until the next try. Sessions start again after a restart of brokers. Brokers need some seconds
// before they answer.
const hangingDelay = 10 * time.Second

// endHanging ends hanging transactions of processes that have not returned, once in a session. In
// the changelog they would delay takeovers, see watch; in outputs only the readers of these. One
// worker of the group looks: two that end the same transaction would abort it.
func (w *worker) endHanging(life context.Context) {
	for pause.For(life, hangingDelay) {
		if !slices.Contains(w.assignment.get(), 0) {
			continue
		}
		err := w.recovery().EndHanging(life)
		if err == nil || kafka.RefusalOf(err) == kafka.NoPermission { // few may see the group's offsets
			return
		}
		if !txn.Transient(err) {
			w.log.Warn().Err(err).Msg("hanging_transaction_scan_failed")
			return
		}
	}
}

// recovery returns the means to end transactions that delay the readers of the application.
func (w *worker) recovery() *txn.Recovery {
	return &txn.Recovery{
		Kafka: w.cfg.Kafka, Client: w.admin, App: w.proc.App, Changelog: w.proc.Changelog,
		Topics: w.proc.WrittenTopics(), TxnID: w.txnID, Timeout: w.cfg.TransactionTimeout, Log: w.log, Searching: w.searching,
	}
}

package processors

import (
	"context"
	"time"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors/internal/txn"
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

// recovery returns the means to end transactions that delay the readers of the application.
func (w *worker) recovery() *txn.Recovery {
	return &txn.Recovery{
		Kafka: w.cfg.Kafka, Client: w.admin, App: w.proc.App, Changelog: w.proc.Changelog,
		Topics: w.proc.WrittenTopics(), TxnID: w.txnID, Timeout: w.cfg.TransactionTimeout, Log: w.log, Searching: w.searching,
	}
}

package txn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors/kafka"
)

// Leftover is what the last transaction of a transactional id has left behind.
type Leftover int

// Values of Leftover.
const (
	Nothing Leftover = iota // it has ended, and no partition has it open
	Running                 // another one is open, and no partition has an earlier one open
	Unseen                  // a partition has not answered that may answer later
	Hanging                 // it has ended, and a partition has it open
)

const (
	// leftoverTry bounds one look.
	leftoverTry = 10 * time.Second
	// unseenWait is how long EndLeftover waits for a partition that does not answer.
	unseenWait = 10 * time.Second
)

// Leftover finds what the last transaction of TxnID has left behind. It waits while the coordinator
// ends the transaction.
func (r *Recovery) Leftover(ctx context.Context) (Leftover, error) {
	l, err := r.leftover(ctx)
	return l.what, err
}

// look is what was found of a transaction.
type look struct {
	what Leftover
	tx   *kadm.DescribedTransaction      // as its coordinator describes it; nil: the id has no transaction
	open map[kadm.DescribedProducer]bool // where it hangs
}

// leftover is Leftover.
func (r *Recovery) leftover(ctx context.Context) (l look, err error) {
	l.what = Unseen
	ctx, cancel := context.WithTimeout(kafka.Uncached(ctx), leftoverTry)
	defer cancel()
	adm := kadm.NewClient(r.Client)
	if l.tx, err = r.lastTransaction(ctx, adm); err != nil {
		return l, err
	}
	if l.tx == nil {
		return look{what: Nothing}, nil
	}
	before, unseen, err := r.openBy(ctx, adm, l.tx.ProducerID)
	if err != nil {
		return l, err
	}
	if len(before) > 0 {
		// The process may have begun or ended a transaction since. What hangs is open both times.
		if l.tx, err = r.lastTransaction(ctx, adm); err != nil || l.tx == nil {
			return l, err
		}
		open, later, err := r.openBy(ctx, adm, l.tx.ProducerID)
		if err != nil {
			return l, err
		}
		unseen = unseen || later
		maps.DeleteFunc(open, func(d kadm.DescribedProducer, _ bool) bool {
			return !before[d] || l.tx.Topics.Lookup(d.Topic, d.Partition)
		})
		l.open = open
	}
	switch {
	case len(l.open) > 0:
		l.what = Hanging
	case unseen:
	case l.tx.State == ongoing:
		l.what = Running
	default:
		l.what = Nothing
	}
	return l, nil
}

// EndLeftover ends what hangs of the last transaction of TxnID: it commits what its coordinator, or
// this process, knows to be committed, and aborts the rest. It is called before the next
// transaction of TxnID, whose end would be the outcome of what hangs, too. It tries again while no
// broker answers, and for some seconds after other errors. Without the rights to describe it does
// nothing, and returns an error. It returns what it has found.
func (r *Recovery) EndLeftover(ctx context.Context, known *Outcomes) (Leftover, error) {
	began := time.Now()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		l, err := r.leftover(ctx)
		if l.tx != nil {
			known.describe(l.tx, l.open)
		}
		if l.what == Hanging {
			if err = r.endAll(ctx, l.open, known); err == nil {
				return l.what, nil
			}
		}
		switch {
		case ctx.Err() != nil:
			return l.what, ctx.Err()
		case err == nil && l.what != Unseen, err != nil && !Transient(err), !Away(err) && time.Since(began) > unseenWait:
			return l.what, err
		}
		pause.For(ctx, wait)
	}
}

// endAll ends the transactions that are open. One whose outcome is not known is aborted.
func (r *Recovery) endAll(ctx context.Context, open map[kadm.DescribedProducer]bool, known *Outcomes) error {
	for _, commit := range []bool{true, false} {
		h := hangingTxn{txnID: r.TxnID, commit: commit, parts: kadm.TopicsSet{}}
		for d := range open {
			if known.isCommitted(d) == commit {
				h.parts.Add(d.Topic, d.Partition)
			}
		}
		if len(h.parts) > 0 {
			if err := r.end(ctx, &h); err != nil {
				return err
			}
		}
	}
	return nil
}

// lastTransaction describes the last transaction of TxnID, when its coordinator is not about to end
// it. It returns nil without one.
func (r *Recovery) lastTransaction(ctx context.Context, adm *kadm.Client) (*kadm.DescribedTransaction, error) {
	for {
		list, err := adm.DescribeTransactions(ctx, r.TxnID)
		if err != nil {
			return nil, fmt.Errorf("describe the transaction of %s: %w", r.TxnID, err)
		}
		tx, ok := list[r.TxnID]
		switch {
		case !ok, errors.Is(tx.Err, kerr.TransactionalIDNotFound):
			return nil, nil //nolint:nilnil // there is none
		case tx.Err != nil:
			return nil, fmt.Errorf("describe the transaction of %s: %w", r.TxnID, tx.Err)
		case !strings.HasPrefix(tx.State, "Prepare"):
			return &tx, nil
		}
		if !pause.For(ctx, 20*time.Millisecond) {
			return nil, ctx.Err()
		}
	}
}

// openBy returns where a producer has transactions open, as far as the process may see it, and
// whether a partition has not answered that may answer later.
func (r *Recovery) openBy(ctx context.Context, adm *kadm.Client, producer int64) (map[kadm.DescribedProducer]bool, bool, error) {
	open, unseen, err := r.openTransactions(ctx, adm)
	if open == nil {
		return nil, unseen, err
	}
	maps.DeleteFunc(open, func(d kadm.DescribedProducer, _ bool) bool { return d.ProducerID != producer })
	return open, unseen, nil
}

// Transient reports whether a repeated request may succeed.
func Transient(err error) bool {
	why := kafka.RefusalOf(err)
	refused := why == kafka.NoPermission || why == kafka.BadCredentials || why == kafka.UntrustedBroker
	return !refused && !errors.Is(err, kerr.UnsupportedVersion)
}

// Away reports whether err is that no broker answers, or none that could.
func Away(err error) bool {
	return kerr.IsRetriable(err) || kafka.Unreachable(err) || kafka.ClosedAtOnce(err) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.Is(err, context.DeadlineExceeded)
}

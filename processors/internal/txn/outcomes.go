package txn

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
)

// Outcomes are the last transactions of a transactional id that are known to be committed. Brokers
// give each transaction a producer epoch of its own (KIP-890).
type Outcomes struct {
	committed []producer // the newest last
}

// producer is a producer id in one transaction.
type producer struct {
	id    int64
	epoch int16
}

// keptOutcomes is the number of transactions that are kept: the last one may hang, and the one
// before it if the last one has not been ended.
const keptOutcomes = 8

// Committed records that a transaction is committed.
func (o *Outcomes) Committed(id int64, epoch int16) {
	if p := (producer{id, epoch}); !slices.Contains(o.committed, p) {
		o.committed = append(o.committed, p)
		o.committed = o.committed[max(0, len(o.committed)-keptOutcomes):]
	}
}

// Unknown records that the outcome of a transaction is not known.
func (o *Outcomes) Unknown(id int64, epoch int16) {
	o.committed = slices.DeleteFunc(o.committed, func(p producer) bool { return p == producer{id, epoch} })
}

// describe takes what the coordinator reports and forgets with the next transaction. What hangs
// of the last one has the epoch before, or the same one where transactions have none of their own.
func (o *Outcomes) describe(tx *kadm.DescribedTransaction, open map[kadm.DescribedProducer]bool) {
	if tx.State != completeCommit {
		return
	}
	o.Committed(tx.ProducerID, tx.ProducerEpoch-1)
	for d := range open {
		if d.ProducerEpoch == tx.ProducerEpoch {
			o.Committed(d.ProducerID, d.ProducerEpoch)
		}
	}
}

// isCommitted reports whether a transaction that is open somewhere is known to be committed.
func (o *Outcomes) isCommitted(d kadm.DescribedProducer) bool {
	return slices.Contains(o.committed, producer{d.ProducerID, d.ProducerEpoch})
}

package txn

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
)

// TestOutcomes: what hangs is committed if the process, or the coordinator, has known its commit,
// also if the coordinator has forgotten it since. A transaction with the epoch of an earlier one
// does not have its outcome.
func TestOutcomes(t *testing.T) {
	var o Outcomes
	at := func(epoch int16) kadm.DescribedProducer {
		return kadm.DescribedProducer{ProducerID: 7, ProducerEpoch: epoch}
	}
	is := func(epoch int16, want bool) {
		t.Helper()
		if got := o.isCommitted(at(epoch)); got != want {
			t.Errorf("epoch %d is committed: %v", epoch, got)
		}
	}
	is(3, false)
	o.Committed(7, 3)
	is(3, true)
	if o.isCommitted(kadm.DescribedProducer{ProducerID: 8, ProducerEpoch: 3}) {
		t.Error("another producer")
	}
	o.Unknown(7, 3) // brokers that give transactions no epoch of their own: the next one ends
	is(3, false)
	o.describe(&kadm.DescribedTransaction{State: completeCommit, ProducerID: 7, ProducerEpoch: 5}, map[kadm.DescribedProducer]bool{at(5): true, at(2): true})
	is(4, true)
	is(5, true)
	is(2, false)
	o.describe(&kadm.DescribedTransaction{State: "Empty", ProducerID: 7, ProducerEpoch: 9}, map[kadm.DescribedProducer]bool{at(9): true})
	is(4, true)
	is(9, false)
	for epoch := range int16(keptOutcomes) {
		o.Committed(7, 100+epoch)
	}
	is(4, false)
	is(100, true)
}

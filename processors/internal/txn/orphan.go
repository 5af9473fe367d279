package txn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirhq/weir/processors/internal/group"
)

// EndOrphaned ends transactions that a dead process left open. No consumer reads past an open
// transaction until the coordinator aborts it, which takes the transaction timeout and up to 10 s
// more. A process that is no longer in the group has lost its partitions, so to fence its
// transactional id cannot lose a commit.
func (r *Recovery) EndOrphaned(ctx context.Context) error {
	if !r.Searching.TryLock() {
		return nil
	}
	defer r.Searching.Unlock()
	ids, err := r.orphans(ctx, kadm.NewClient(r.Client))
	for _, id := range ids {
		r.Log.Warn().Str("transactional_id", id).Msg("orphaned_transaction_ended")
		err = errors.Join(err, EndOpen(ctx, r.Client, id, r.Timeout))
	}
	return err
}

// orphans returns the transactional ids that have an open transaction in our changelog and no
// member in the group.
func (r *Recovery) orphans(ctx context.Context, adm *kadm.Client) ([]string, error) {
	open, err := adm.ListTransactions(ctx, nil, []string{ongoing})
	if err != nil {
		return nil, fmt.Errorf("list transactions: %w", err)
	}
	list, err := group.DescribeMembers(ctx, adm, r.App)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 { // this process is a member; a wrong answer must not end the transactions of the others
		return nil, fmt.Errorf("group %s has no members according to the brokers, although this process is one", r.App)
	}
	members := map[string]bool{r.TxnID: true}
	for _, m := range list {
		if m.InstanceID != nil { // equal to the transactional id, see connect
			members[*m.InstanceID] = true
		}
	}
	var gone []string
	for _, id := range open.TransactionalIDs() {
		if strings.HasPrefix(id, r.App+"-") && !members[id] {
			gone = append(gone, id)
		}
	}
	if len(gone) == 0 {
		return nil, nil
	}
	txns, err := adm.DescribeTransactions(ctx, gone...)
	if err != nil {
		return nil, fmt.Errorf("describe transactions: %w", err)
	}
	return slices.DeleteFunc(gone, func(id string) bool {
		tx := txns[id]
		return tx.Err != nil || len(tx.Topics[r.Changelog]) == 0 // belongs to an application whose name begins with ours
	}), nil
}

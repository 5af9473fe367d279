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

// EndOrphaned ends transactions that a process left open when it died: nobody reads past them until the coordinator gives them up,
// which takes the transaction's time-out and up to 10 s more. Whoever is not in the group any more has lost its partitions,
// so to take its transactional id loses nothing that could still commit.
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

// orphans are the transactional ids with a transaction open in our changelog whose member is gone.
func (r *Recovery) orphans(ctx context.Context, adm *kadm.Client) ([]string, error) {
	open, err := adm.ListTransactions(ctx, nil, []string{"Ongoing"})
	if err != nil {
		return nil, fmt.Errorf("list transactions: %w", err)
	}
	list, err := group.DescribeMembers(ctx, adm, r.App)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 { // we are one of them: to take that for an answer would end the transactions of all others
		return nil, fmt.Errorf("group %s is said to have no members", r.App)
	}
	members := map[string]bool{r.TxnID: true}
	for _, m := range list {
		if m.InstanceID != nil { // which is the transactional id, see connect
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
		return tx.Err != nil || len(tx.Topics[r.Changelog]) == 0 // of an application whose name begins as ours
	}), nil
}

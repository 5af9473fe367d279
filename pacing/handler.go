package pacing

import (
	"bytes"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

// Reasons for which a record is rejected, beside stream.ReasonNoValue, which is a tombstone.
const (
	ReasonUndecodable    = stream.ReasonUndecodable // not an eventspb.AccountBudgets
	ReasonOversized      = "oversized"              // more than MaxValueBytes
	ReasonInvalid        = "invalid_budgets"        // budget.FromRecord refuses it
	ReasonWrongPartition = "wrong_partition"        // it is not in the partition of its account
	ReasonWrongKey       = "wrong_key"              // compaction could remove a greater version for it
)

// MaxValueBytes is the maximum size of a record. It leaves room for other encodings of its fields.
const MaxValueBytes = 2 * budget.MaxBytes

// handler folds the records of budgets of one task.
type handler struct {
	shards  int32
	budgets *state.Table[[]byte, *eventspb.AccountBudgets]
	changed func(account string, v budget.Versions)
}

// fold adds a record to the versions of its account.
func (h handler) fold(c *stream.Context, r *stream.Record) error {
	d, err := h.read(c, r)
	if err != nil {
		return err
	}
	before, err := h.versions(c, d.Account)
	if err != nil {
		return err
	}
	after := before.Add(d)
	for _, old := range before.List {
		if !slices.Contains(after.List, old) {
			h.budgets.Delete(c, budget.AppendKey(nil, d.Account, old.Version))
		}
	}
	if slices.Contains(after.List, d) { // behind the deletions: a conflict has one key
		h.budgets.Put(c, budget.AppendKey(nil, d.Account, d.Version), d.Record())
	}
	h.changed(d.Account, after)
	return nil
}

// read returns the document of a record. Its errors reject the record.
func (h handler) read(c *stream.Context, r *stream.Record) (*budget.Document, error) {
	if len(r.Value) > MaxValueBytes {
		return nil, stream.Rejectf(ReasonOversized, "%d bytes, at most %d", len(r.Value), MaxValueBytes)
	}
	if r.Value == nil {
		return nil, stream.Rejectf(stream.ReasonNoValue, "a version of budgets cannot be removed: write a greater one")
	}
	m := &eventspb.AccountBudgets{}
	if err := proto.Unmarshal(r.Value, m); err != nil {
		return nil, stream.Rejectf(ReasonUndecodable, "not an AccountBudgets: %v", err)
	}
	d, err := budget.FromRecord(m)
	if err != nil {
		return nil, stream.Rejectf(ReasonInvalid, "%v", err)
	}
	if want := events.Shard(d.Account, h.shards); want != c.Partition() {
		return nil, stream.Rejectf(ReasonWrongPartition, "the partition of account %q is %d of %d", d.Account, want, h.shards)
	}
	if !bytes.HasPrefix(r.Key, budget.AppendKey(nil, d.Account, d.Version)) {
		return nil, stream.Rejectf(ReasonWrongKey,
			"the key has to begin with the account, a zero byte, and the version in 8 bytes, big endian")
	}
	return d, nil
}

// versions returns the versions of an account.
func (h handler) versions(c *stream.Context, account string) (v budget.Versions, err error) {
	err = h.budgets.ScanPrefix(c, budget.AccountPrefix(nil, account), func(_ []byte, m *eventspb.AccountBudgets) error {
		v.List = append(v.List, budget.FromStored(m))
		return nil
	})
	return v, err
}

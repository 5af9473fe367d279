package spendcounter

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/spendcounter/spendpb"
	"github.com/weirhq/weir/stream"
)

// ReferencePrefix returns the prefix of the keys of an account in TableReferences. What follows it
// is the reference id.
func ReferencePrefix(account string) []byte { return append([]byte(account), 0) }

// referenceKey returns the key of an adjustment in TableReferences: account, NUL, reference id.
// Both are without NUL.
func referenceKey(account, reference []byte) []byte {
	return append(append(append(make([]byte, 0, len(account)+len(reference)+1), account...), 0), reference...)
}

// ParseReference reads a value of TableReferences.
func ParseReference(value []byte) (*spendpb.AppliedAdjustment, error) {
	m := &spendpb.AppliedAdjustment{}
	if err := proto.Unmarshal(value, m); err != nil {
		return nil, err
	}
	if m.Campaign == "" {
		return nil, errors.New("the value has no campaign")
	}
	return m, nil
}

// reference returns the adjustment that was applied under a key of TableReferences, nil if there is
// none.
func (c *Counter) reference(key []byte) (*spendpb.AppliedAdjustment, error) {
	if applied := c.references[string(key)]; applied != nil {
		return applied, nil
	}
	value, err := c.task.Get(TableReferences, key)
	if err == nil && value == nil {
		return nil, nil
	}
	var applied *spendpb.AppliedAdjustment
	if err == nil {
		if applied, err = ParseReference(value); err != nil {
			err = fmt.Errorf("%w: rebuild the store from its changelog", err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("spend counter, partition %d: read reference %q: %w", c.task.Partition, key, err)
	}
	return applied, nil
}

// refer remembers that a was applied.
func (c *Counter) refer(a *adjustment) {
	c.references[string(a.reference)] = &spendpb.AppliedAdjustment{
		Campaign: string(a.campaign), BudgetDay: int32(a.day), Currency: a.currency.String(), Micros: a.micros,
		ServingDc: string(a.serving), Reason: a.reason, IngestMs: a.ingest,
	}
}

// repeat counts a, whose reference was applied before, and reports whether a differs.
func (c *Counter) repeat(a *adjustment, applied *spendpb.AppliedAdjustment) (conflict bool) {
	conflict = applied.Micros != a.micros || applied.Campaign != string(a.campaign) || applied.BudgetDay != int32(a.day) ||
		applied.Currency != a.currency.String() || applied.ServingDc != string(a.serving)
	applied.Duplicates++
	if conflict {
		applied.Conflicts++
	}
	c.references[string(a.reference)] = applied
	return conflict
}

func (c *Counter) flushReferences(ch *stream.Changes) error {
	for _, key := range slices.Sorted(maps.Keys(c.references)) {
		value, err := proto.MarshalOptions{Deterministic: true}.Marshal(c.references[key])
		if err != nil {
			return fmt.Errorf("spend counter, partition %d: reference %q: %w", c.task.Partition, key, err)
		}
		ch.Put(TableReferences, []byte(key), value)
	}
	clear(c.references)
	return nil
}

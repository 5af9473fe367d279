package follower

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/stream"
)

// A store key is the slot in place of the partition number, then a table: the position of the slot,
// or its rows. A slot without position is a load that did not end.
const rowTable = stream.FirstTable

// position is the place in the log to which the rows of a slot belong. It is stored as JSON.
type position struct {
	Format    int       `json:"format"`
	Topic     string    `json:"topic"`
	Partition int32     `json:"partition"`
	TopicID   string    `json:"topic_id"`
	Next      int64     `json:"next"`  // the offset to read next
	Epoch     int32     `json:"epoch"` // leader epoch of the last record; -1: unknown
	AsOf      time.Time `json:"as_of"` // when the rows were complete: no committed record was behind Next
}

const positionFormat = 1

// observe takes an end of the committed records, and when the brokers were asked for it: rows that
// include the end were complete then.
func (p *position) observe(end int64, at time.Time) {
	if p.Next >= end && at.After(p.AsOf) {
		p.AsOf = at
	}
}

func positionKey(slot int32) []byte {
	return store.Key(slot, changelogpb.SystemTable, []byte("follower"))
}

func putPosition(b *pebble.Batch, slot int32, p position) error {
	v, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode the position of %s[%d]: %w", p.Topic, p.Partition, err)
	}
	return b.Set(positionKey(slot), v, nil)
}

func decodePosition(slot int32, b []byte) (p position, err error) {
	if err := json.Unmarshal(b, &p); err != nil {
		return p, fmt.Errorf("decode the position of slot %d: %w", slot, err)
	}
	return p, nil
}

// slotBounds returns the first key of a slot and the first key behind it.
func slotBounds(slot int32) (lower, upper []byte) {
	lower = []byte{byte(slot >> 8), byte(slot)}
	return lower, stream.PrefixEnd(lower)
}

// readPositions returns the positions of all slots. It clears the slots of loads that did not end.
func readPositions(ctx context.Context, s *store.Store) (map[int32]position, error) {
	found := map[int32]position{}
	var unfinished []int32
	err := store.EachPartition(ctx, s.DB, func(slot int32) error {
		b, err := store.Get(s.DB, positionKey(slot))
		if err != nil {
			return err
		}
		if b == nil {
			unfinished = append(unfinished, slot)
			return nil
		}
		p, err := decodePosition(slot, b)
		if err != nil {
			s.ReportDamage(err)
			return err
		}
		if p.Format > positionFormat {
			return fmt.Errorf("%w: %s[%d] has format %d, this binary reads up to %d: run the newer binary, or remove the state directory",
				ErrNewer, p.Topic, p.Partition, p.Format, positionFormat)
		}
		found[slot] = p
		return nil
	})
	for _, slot := range unfinished {
		err = errors.Join(err, s.ClearPartition(slot))
	}
	return found, err
}

package spendcounter

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcounter/spendpb"
	"github.com/weirhq/weir/stream"
)

// AccountSelector takes the spend of one account from a counter that counted it again, and nothing
// else: the account's campaign days unchanged, and the differences of the sums in the task record,
// which is shared by all accounts. It replaces what the account was charged before; it does not add
// to it.
//
// The task record has sums by origin, and the campaign days have sums by serving datacentre. The
// difference goes to the origin with the same name, or to the counter's own origin. The number of
// adjustments is not known by account and does not change.
type AccountSelector struct {
	account, dc string
	changed     bool
	duplicates  uint64            // differences wrap around, and are added in the same way
	refunded    int64             // of all time
	origins     map[string]change // by serving datacentre
}

type change struct {
	count  uint64
	micros int64
}

// NewAccountSelector returns a selector for one task of the counter of datacentre dc. dc defaults
// to "local".
func NewAccountSelector(dc, account string) *AccountSelector {
	if dc == "" {
		dc = "local"
	}
	return &AccountSelector{account: account, dc: dc, origins: map[string]change{}}
}

// Take reports whether key is one of the account's campaign days, and adds up the difference.
func (a *AccountSelector) Take(table byte, key, was, is []byte) (bool, error) {
	if table != TableSpend {
		return false, nil
	}
	_, account, _, _, err := ParseKey(key)
	if err != nil || string(account) != a.account {
		return false, err
	}
	a.changed = true
	return true, errors.Join(a.note(key, was, -1), a.note(key, is, 1))
}

func (a *AccountSelector) note(key, value []byte, sign int64) error {
	m := &eventspb.Spend{}
	if err := proto.Unmarshal(value, m); err != nil {
		return fmt.Errorf("spend %q: %w", key, err)
	}
	a.duplicates += uint64(sign) * m.Duplicates
	for _, by := range m.ByDc {
		c := a.origins[by.ServingDc]
		c.micros += sign * by.ChargedMicros
		a.refunded += sign * by.RefundedMicros
		for _, t := range by.Events {
			c.count += uint64(sign) * t.Count
		}
		a.origins[by.ServingDc] = c
	}
	return nil
}

// Finish puts the task record with the differences of all campaign days that Take accepted.
func (a *AccountSelector) Finish(live stream.Get, ch *stream.Changes) error {
	if !a.changed {
		return nil
	}
	value, err := live(TableTask, []byte(taskKey))
	if err != nil {
		return err
	}
	s := &spendpb.TaskState{}
	if err := proto.Unmarshal(value, s); err != nil {
		return fmt.Errorf("task record: %w", err)
	}
	s.Duplicates += a.duplicates
	s.RefundedMicros += a.refunded
	for dc, c := range a.origins {
		o := origins(s.Origins).of(dc)
		if o == nil {
			o = origins(s.Origins).of(a.dc)
		}
		if o == nil {
			return fmt.Errorf("task record: it has neither the origin %s nor %s for %d micros of account %s", dc, a.dc, c.micros, a.account)
		}
		o.Count, o.Micros = o.Count+c.count, o.Micros+c.micros
		if !slices.Contains(s.ServingDcs, dc) {
			s.ServingDcs = append(s.ServingDcs, dc)
		}
	}
	slices.Sort(s.ServingDcs)
	if err := origins(s.Origins).balance(); err != nil || s.RefundedMicros < 0 || len(s.ServingDcs) > MaxServingDCs {
		return errors.Join(err, fmt.Errorf("task record: %d micros refunded and %d serving datacentres after the correction of account %s: %w: promote the whole partition", s.RefundedMicros, len(s.ServingDcs), a.account, ErrInconsistent))
	}
	if value, err = (proto.MarshalOptions{Deterministic: true}).Marshal(s); err != nil {
		return err
	}
	ch.Put(TableTask, []byte(taskKey), value)
	return nil
}

type origins []*spendpb.Origin

func (list origins) of(dc string) *spendpb.Origin {
	for _, o := range list {
		if o.Dc == dc {
			return o
		}
	}
	return nil
}

// balance moves what one origin lacks from the origins that have it: events that another datacentre
// served came from one of them.
func (list origins) balance() error {
	for _, o := range list {
		for _, other := range list {
			if o.Micros >= 0 {
				break
			}
			if n := min(-o.Micros, other.Micros); n > 0 {
				o.Micros, other.Micros = o.Micros+n, other.Micros-n
			}
		}
		if o.Micros < 0 {
			return fmt.Errorf("task record: origin %s would have charged %d micros", o.Dc, o.Micros)
		}
	}
	return nil
}

package spendcounter

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcounter/spendpb"
	"github.com/weirhq/weir/stream"
)

// Promotion takes the state of a task from a counter that counted it again: all of it, or the spend
// of one account. It is an offline.Selector. Each promotion that changes a campaign day is one more
// correction of the task, whose number the records of these campaign days have from then on.
//
// Of one account it takes the campaign days, hours, parts, index rows and references unchanged, and
// the differences of the sums in the task record, which is shared by all accounts. It replaces what
// the account was charged before; it does not add to it. The task record has sums by origin, and
// the campaign days have sums by serving datacentre. The difference goes to the origin with the
// same name, or to the counter's own origin. The number of adjustments is not known by account and
// does not change.
type Promotion struct {
	account, dc string // account is empty for all
	events      string // topic of the events
	commit      stream.Commit
	state       *spendpb.TaskState // the live task record
	before      corrections        // of the live task record

	changed, tookTask bool
	reopened          bool              // a row of a closed day is promoted: of a counter that closes days later
	duplicates        uint64            // differences wrap around, and are added in the same way
	refunded          int64             // of all time
	origins           map[string]change // by serving datacentre
}

type change struct {
	count  uint64
	micros int64
}

// Promotion returns the promotion of account, or of all accounts if it is empty, in the transaction
// c of one task. live reads the live state.
func (s ProcessorConfig) Promotion(account string, live stream.Get, c stream.Commit) (*Promotion, error) {
	s.setDefaults()
	value, err := live(TableTask, []byte(TaskKey))
	if err != nil {
		return nil, err
	}
	state, err := ParseTask(value)
	if err != nil {
		return nil, err
	}
	return &Promotion{
		account: account, dc: s.DC, events: s.Layout.Name(events.EventsTopic), commit: c,
		state: state, before: state.Corrections, origins: map[string]change{},
	}, nil
}

// Take reports whether the difference of key is promoted, and adds up what the task record has to
// be changed by.
func (a *Promotion) Take(table byte, key, was, is []byte) (bool, error) {
	if table == TableHealth {
		return false, nil // the live counter's next one has the figures of the promoted state
	}
	if a.account == "" {
		a.changed = a.changed || table == TableSpend
		a.tookTask = a.tookTask || table == TableTask
		return true, nil
	}
	switch table {
	case TableSpend:
	case TableCampaigns:
		_, account, err := ParseIndexKey(key)
		return err == nil && string(account) == a.account, err
	case TableReferences, TableHours, TableParts:
		account, _, _ := bytes.Cut(key, []byte{0})
		return string(account) == a.account, nil
	default:
		return false, nil
	}
	account, _, _, _, err := ParseKey(key)
	if err != nil || string(account) != a.account {
		return false, err
	}
	a.changed = true
	return true, errors.Join(a.note(key, was, -1), a.note(key, is, 1))
}

func (a *Promotion) note(key, value []byte, sign int64) error {
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

// Rewrite converts a value of the other counter into a value of the transaction.
func (a *Promotion) Rewrite(table byte, key, value []byte) ([]byte, error) {
	switch table {
	case TableSpend, TableHours, TableParts:
		account, day, err := accountDay(table, key)
		if err != nil {
			return nil, err
		}
		a.reopened = a.reopened || table == TableSpend && day != lifetimeDay && int32(day) <= a.state.ClosedDay
		value, err = Rewrite(a.events, table, value, a.commit)
		return replaceField(value, spendCorrections, uint64(a.after().of(account, day))), err
	case TableTask: // comes after the campaign days, by its number
		s, err := ParseTask(value)
		if err != nil {
			return nil, err
		}
		return a.marshal(s)
	}
	return value, nil
}

// accountDay returns the account and the budget day of a key of TableSpend, TableHours or
// TableParts.
func accountDay(table byte, key []byte) (account []byte, day events.Day, err error) {
	switch table {
	case TableHours:
		key, _, err = ParseHourKey(key)
	case TableParts:
		key, _, _, err = ParsePartKey(key)
	}
	if err != nil {
		return nil, 0, err
	}
	account, _, day, _, err = ParseKey(key)
	return account, day, err
}

// after returns the corrections of the task after the promotion.
func (a *Promotion) after() corrections {
	if !a.changed {
		return a.before
	}
	return a.before.with(a.account, a.commit.NowMs)
}

// marshal returns s with the corrections. If a row of a closed day is promoted, the next pass looks
// at all rows.
func (a *Promotion) marshal(s *spendpb.TaskState) ([]byte, error) {
	s.Corrections = a.after()
	if a.reopened {
		s.Pass = nil
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(s)
}

// Finish puts the task record: with the differences of all campaign days that Take accepted, and
// with the correction.
func (a *Promotion) Finish(ch *stream.Changes) error {
	if !a.changed || a.tookTask {
		return nil
	}
	if a.account != "" {
		if err := a.addDifferences(a.state); err != nil {
			return err
		}
	}
	value, err := a.marshal(a.state)
	if err != nil {
		return err
	}
	ch.Put(TableTask, []byte(TaskKey), value)
	return nil
}

// addDifferences adds the differences of the account's campaign days to s.
func (a *Promotion) addDifferences(s *spendpb.TaskState) error {
	s.Unranked = true // campaigns may have fallen
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
		return errors.Join(err,
			fmt.Errorf(
				"task record: %d micros refunded and %d serving datacentres after the correction of account %s: %w: promote the whole partition", s.RefundedMicros, len(s.ServingDcs), a.account, ErrInconsistent))
	}
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

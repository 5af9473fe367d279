package pacing

import (
	"bytes"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/billing"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/pack"
)

// stored is what the state has of an account when a task begins. It is decoded at the first tick of
// the account: decoding all accounts at once would take seconds, in which nothing is paced.
type stored struct {
	budgets [][]byte // in the order of their versions
	packs   []storedPack
}

// storedPack is a pack of the state.
type storedPack struct {
	part  int
	value []byte
}

// load makes the accounts of the committed state.
func (x *task) load() error {
	err := x.Range(TableBudgets, nil, nil, func(key, value []byte) error {
		name, _, err := budget.ParseKey(key)
		if err != nil {
			return err
		}
		a := x.accounts[name]
		if a == nil {
			a = x.add(name)
			a.stored = &stored{}
		}
		a.stored.budgets = append(a.stored.budgets, bytes.Clone(value))
		return nil
	})
	if err != nil {
		return fmt.Errorf("budgets: %w", err)
	}
	err = x.Range(TablePacks, nil, nil, func(key, value []byte) error {
		name, part, err := ParsePackKey(key)
		if err != nil {
			return err
		}
		if a := x.accounts[name]; a != nil {
			a.stored.packs = append(a.stored.packs, storedPack{part, bytes.Clone(value)})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("packs: %w", err)
	}
	err = x.Range(TableDays, nil, nil, func(key, value []byte) error {
		name, day, err := ParseDayKey(key)
		if err != nil {
			return err
		}
		if a := x.accounts[name]; a != nil { // in the order of days
			n := noted{day: day}
			n.endMs, n.version, n.billed = billing.Header(value)
			if n.endMs == 0 && !n.billed {
				x.problem(name, fmt.Errorf("%s is not billed: %w", day, errDayRow))
			}
			a.days = append(a.days, n)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("days: %w", err)
	}
	return nil
}

// restore gives an account what the state has of it. If its budgets cannot be decoded, they stay in
// a.stored, and it is not paced.
func (x *task) restore(a *account) {
	if a.stored == nil {
		return
	}
	if v, err := decodeVersions(a.stored.budgets); err != nil {
		x.problem(a.Name(), fmt.Errorf("budgets cannot be decoded, and the account is not paced: %w", err))
		return
	} else if len(v.List) > 0 {
		a.SetVersions(v)
	}
	a.Restore(x.decodePacks(a.Name(), a.stored.packs))
	a.stored = nil
}

// decodeVersions returns the versions of rows of the state.
func decodeVersions(rows [][]byte) (v budget.Versions, err error) {
	for _, row := range rows {
		d, err := budget.Unmarshal(row)
		if err != nil {
			return v, err
		}
		v.List = append(v.List, d)
	}
	return v, nil
}

// decodePacks returns the packs of rows of the state. The campaigns of one that cannot be decoded
// begin again, and it is written again.
func (x *task) decodePacks(account string, rows []storedPack) (packs []*eventspb.AccountPack) {
	for _, s := range rows {
		m := &eventspb.AccountPack{}
		if err := proto.Unmarshal(s.value, m); err != nil {
			x.problem(account, fmt.Errorf("pack %d cannot be decoded, and its campaigns begin again: %w", s.part, err))
			m = &eventspb.AccountPack{Account: account, Part: int32(s.part)}
		}
		packs = append(packs, m)
	}
	return packs
}

// account is the pacing of an account.
type account struct {
	*pack.Account
	stored *stored // not decoded yet; nil: none

	days  []noted          // rows of TableDays, in their order
	today *budget.Document // that the row of the present day has; nil: not known
}

// add adds an account.
func (x *task) add(name string) *account {
	a := &account{Account: pack.New(name, x.pacer)}
	x.accounts[name] = a
	b := Bucket(name)
	x.buckets[b] = append(x.buckets[b], a)
	return a
}

package budget

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// Record returns the record of a valid document.
func (d *Document) Record() *eventspb.AccountBudgets {
	m := &eventspb.AccountBudgets{
		Account: d.Account, Version: d.Version, TimeZone: d.Zone, Currency: d.Currency, EffectiveFromMs: d.EffectiveMs,
		Plan: d.Plan,
	}
	for i := range d.Shared {
		s := &d.Shared[i]
		m.Shared = append(m.Shared, &eventspb.SharedBudget{Id: s.ID, Parent: s.Parent, Limit: s.Limit.record()})
	}
	for i := range d.Campaigns {
		c := &d.Campaigns[i]
		row := &eventspb.CampaignBudget{Campaign: c.ID, Shared: c.Shared, Limit: c.Limit.record()}
		for _, a := range c.Arms {
			row.Arms = append(row.Arms, &eventspb.ArmShare{Arm: a.ID, Ppm: a.PPM})
		}
		m.Campaigns = append(m.Campaigns, row)
	}
	return m
}

func (l *Limit) record() *eventspb.BudgetLimit {
	if l.Kind == None {
		return nil
	}
	m := &eventspb.BudgetLimit{Kind: eventspb.BudgetKind(l.Kind), Micros: l.Micros, CapPpm: l.CapPPM, Controller: l.Controller}
	for _, f := range l.Flights {
		m.Flights = append(m.Flights, &eventspb.Flight{BeginDay: int32(f.Begin), EndDay: int32(f.End)})
	}
	return m
}

func recordSize(d *Document) int { return proto.Size(d.Record()) }

// Unmarshal returns the document of the value of a row: of a record that FromRecord has accepted.
func Unmarshal(value []byte) (*Document, error) {
	m := &eventspb.AccountBudgets{}
	if err := proto.Unmarshal(value, m); err != nil {
		return nil, err
	}
	return FromStored(m), nil
}

// FromStored returns the document of a record that FromRecord has accepted, without a check: the
// rules of this machine, such as its time zones, may be other ones now.
func FromStored(m *eventspb.AccountBudgets) *Document {
	d := fromRecord(m)
	d.normalize()
	return d
}

// FromRecord returns the document of a record. Its error is of type Problems: a record is checked
// as a document of a person is, needs a version, and has no field that this version of weir does
// not know: it may be a limit, which would be lost.
func FromRecord(m *eventspb.AccountBudgets) (*Document, error) {
	d := fromRecord(m)
	var p problems
	unknown(&p, "", m.ProtoReflect())
	if d.Version == 0 {
		p.add("version", "it is 0: the record needs a version of 1 or more")
	}
	d.validate(&p)
	if err := p.err(); err != nil {
		return nil, err
	}
	d.normalize()
	if n := recordSize(d); n > MaxBytes {
		return nil, Problems{{Text: fmt.Sprintf("the record has %d bytes: the maximum is %d", n, MaxBytes)}}
	}
	return d, nil
}

// unknown adds a problem for each message in m, at path, with a field that is not known.
func unknown(p *problems, path string, m protoreflect.Message) {
	if len(m.GetUnknown()) > 0 {
		p.add(path, "a field that this version of weir does not know: update this datacentre, and replay the dead letter")
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.Message() == nil || !m.Has(f) {
			continue
		}
		at := strings.TrimPrefix(path+"."+string(f.Name()), ".")
		if !f.IsList() {
			unknown(p, at, m.Get(f).Message())
			continue
		}
		for j := range m.Get(f).List().Len() {
			unknown(p, fmt.Sprintf("%s[%d]", at, j), m.Get(f).List().Get(j).Message())
		}
	}
}

func fromRecord(m *eventspb.AccountBudgets) *Document {
	d := &Document{
		Account: m.GetAccount(), Version: m.GetVersion(), Zone: m.GetTimeZone(), Currency: m.GetCurrency(),
		EffectiveMs: m.GetEffectiveFromMs(), Plan: m.GetPlan(),
	}
	for _, s := range m.GetShared() {
		d.Shared = append(d.Shared, Shared{ID: s.GetId(), Parent: s.GetParent(), Limit: limitOf(s.GetLimit())})
	}
	for _, c := range m.GetCampaigns() {
		row := Campaign{ID: c.GetCampaign(), Shared: c.GetShared(), Limit: limitOf(c.GetLimit())}
		for _, a := range c.GetArms() {
			row.Arms = append(row.Arms, Arm{a.GetArm(), a.GetPpm()})
		}
		d.Campaigns = append(d.Campaigns, row)
	}
	return d
}

func limitOf(m *eventspb.BudgetLimit) Limit {
	l := Limit{Kind: Kind(m.GetKind()), Micros: m.GetMicros(), CapPPM: m.GetCapPpm(), Controller: m.GetController()}
	for _, f := range m.GetFlights() {
		l.Flights = append(l.Flights, Flight{events.Day(f.GetBeginDay()), events.Day(f.GetEndDay())})
	}
	return l
}

// AppendKey appends the key of a version of an account: the account, a zero byte, and the version
// in 8 bytes, big endian. The keys of an account are in the order of its versions.
func AppendKey(dst []byte, account string, version uint64) []byte {
	return binary.BigEndian.AppendUint64(AccountPrefix(dst, account), version)
}

// RecordKey returns the key of the record of d in ads.budgets: AppendKey and a hash of the
// document, so that two documents with one version have two keys.
func (d *Document) RecordKey() []byte {
	return binary.BigEndian.AppendUint64(AppendKey(nil, d.Account, d.Version), xxhash.Sum64(d.Encode()))
}

// AccountPrefix appends what the keys of all versions of an account begin with.
func AccountPrefix(dst []byte, account string) []byte { return append(append(dst, account...), 0) }

// ParseKey returns the account and the version of a key.
func ParseKey(key []byte) (account string, version uint64, err error) {
	n := len(key) - 9
	if n < 1 || key[n] != 0 {
		return "", 0, errors.New("budget: the bytes are not the key of a version of an account")
	}
	return string(key[:n]), binary.BigEndian.Uint64(key[n+1:]), nil
}

// Compare orders the documents of an account: it is negative if b replaces a, 0 if they are equal.
// The greater version is the later one. Two documents with one version are a conflict that should
// not happen. The one that holds earlier is taken as the later, and then the one whose JSON is
// greater, so that every datacentre takes the same one.
func Compare(a, b *Document) int {
	if c := cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(b.EffectiveMs, a.EffectiveMs)); c != 0 || a == b {
		return c
	}
	return bytes.Compare(a.Encode(), b.Encode())
}

// SameContent reports whether two documents of an account differ in their version at most.
func SameContent(a, b *Document) bool {
	x, y := *a, *b
	x.Version, y.Version = 0, 0
	return slices.Equal(x.Encode(), y.Encode())
}

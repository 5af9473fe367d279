package spendlog

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcounter"
)

// Schema is the greatest value of the field schema that this package reads. A
// new field does not change it; a change of meaning does.
const Schema = 0

// ErrNewer means that a record has a newer schema, so that its figures may mean something else.
var ErrNewer = errors.New("the record has a newer schema")

// Kind is what a row is about.
type Kind byte

// The kinds of rows.
const (
	CampaignDay Kind = iota // the whole campaign day
	Hour                    // an hour of it
	Part                    // a line item and arm of it
	Health                  // the progress of the counter in a shard
)

// Key names a campaign day in one currency, or a part of it, or the health of a shard. The lifetime
// row of a campaign, which has its closed days, has day 0. The key of a health row has no other
// field than Kind, Writer and Shard.
type Key struct {
	Kind              Kind
	Account, Campaign string
	Day               events.Day
	Currency          events.Currency
	Hour              int32  // since 1970-01-01 00:00 UTC; 0 unless Kind is Hour
	LineItem, Arm     string // both empty in the Part that sums the pairs without a row of their own
	Writer            string // the datacentre of the counter; empty unless Kind is Health
	Shard             int32  // of the accounts; 0 unless Kind is Health
}

// Row is a record of spend.by.<dc>. Kind determines which of Spend, Hourly, Part and Health is set.
// If all are nil, the row is a tombstone, which deletes the row of the key. The figures of an hour
// and of a line item and arm are a part of those of their campaign day. A health row is the last
// row of its transaction, and describes the rows up to there.
type Row struct {
	Key
	Spend  *eventspb.Spend
	Hourly *eventspb.SpendHour
	Part   *eventspb.SpendPart
	Health *eventspb.SpendHistogram
}

// Decode reads a record of spend.by.<dc>. value is nil for a tombstone. ok is false for a record to
// be skipped: a marker or a barrier of the runtime, or another table of the counter. It returns
// ErrNewer for a row of a newer schema.
func Decode(key, value []byte) (row Row, ok bool, err error) {
	if len(key) == 0 {
		return row, false, errors.New("a record without a key: the topic is not one of a spend counter: read spend.by.<dc>")
	}
	m, err := row.parseKey(key[0], key[1:])
	if err != nil {
		return Row{}, false, err
	}
	if m == nil {
		return row, false, nil
	}
	if value == nil {
		return Row{Key: row.Key}, true, nil
	}
	if err := proto.Unmarshal(value, m); err != nil {
		return Row{}, false, fmt.Errorf("row of %s: %w: read the topic with read_committed and without a converter", row.name(), err)
	}
	return row, true, checkSchema(m.GetSchema())
}

// parseKey sets the key of a row, and an empty message, which it returns. It returns nil for a
// table that readers skip.
func (r *Row) parseKey(table byte, key []byte) (m message, err error) {
	switch table {
	case spendcounter.TableSpend:
		r.Spend = &eventspb.Spend{}
		m = r.Spend
	case spendcounter.TableHours:
		r.Hourly = &eventspb.SpendHour{}
		m, r.Kind = r.Hourly, Hour
		key, r.Hour, err = spendcounter.ParseHourKey(key)
	case spendcounter.TableParts:
		r.Part = &eventspb.SpendPart{}
		m, r.Kind = r.Part, Part
		var lineItem, arm []byte
		key, lineItem, arm, err = spendcounter.ParsePartKey(key)
		r.LineItem, r.Arm = string(lineItem), string(arm)
	case spendcounter.TableHealth:
		r.Health, r.Kind = &eventspb.SpendHistogram{}, Health
		r.Writer, r.Shard, err = spendcounter.ParseHealthKey(key)
		return r.Health, err
	default:
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	account, campaign, day, currency, err := spendcounter.ParseKey(key)
	r.Account, r.Campaign, r.Day, r.Currency = string(account), string(campaign), day, currency
	return m, err
}

// name returns the words for the row in an error.
func (k *Key) name() string {
	if k.Kind == Health {
		return fmt.Sprintf("the health of shard %d of %s", k.Shard, k.Writer)
	}
	return fmt.Sprintf("%s, campaign %s", k.Account, k.Campaign)
}

// message is an eventspb.Spend, SpendHour, SpendPart or SpendHistogram.
type message interface {
	proto.Message
	events.Versioned
	GetSchema() uint32
}

// version returns the record of a row, nil for a tombstone.
func (r *Row) version() events.Versioned {
	switch {
	case r.Spend != nil:
		return r.Spend
	case r.Hourly != nil:
		return r.Hourly
	case r.Part != nil:
		return r.Part
	case r.Health != nil:
		return r.Health
	}
	return nil
}

func checkSchema(schema uint32) error {
	if schema <= Schema {
		return nil
	}
	return fmt.Errorf("%w: %d, this version reads %d: use the version of this package that the writer has", ErrNewer, schema, Schema)
}

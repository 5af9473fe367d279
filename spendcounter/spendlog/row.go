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
)

// Key names a campaign day in one currency, or a part of it. The lifetime row of a campaign, which
// has its closed days, has day 0.
type Key struct {
	Kind              Kind
	Account, Campaign string
	Day               events.Day
	Currency          events.Currency
	Hour              int32  // since 1970-01-01 00:00 UTC; 0 unless Kind is Hour
	LineItem, Arm     string // both empty in the Part that sums the pairs without a row of their own
}

// Row is a record of spend.by.<dc>. Kind determines which of Spend, Hourly and Part is set. If all
// are nil, the row is a tombstone, which deletes the row of the key. The figures of an hour and of
// a line item and arm are a part of those of their campaign day.
type Row struct {
	Key
	Spend  *eventspb.Spend
	Hourly *eventspb.SpendHour
	Part   *eventspb.SpendPart
}

// Decode reads a record of spend.by.<dc>. value is nil for a tombstone. ok is false for a record to
// be skipped: a marker or a barrier of the runtime, or another table of the counter. It returns
// ErrNewer for a row of a newer schema.
func Decode(key, value []byte) (row Row, ok bool, err error) {
	if len(key) == 0 {
		return row, false, errors.New("a record without a key: the topic is not one of a spend counter: read spend.by.<dc>")
	}
	table, spendKey := key[0], key[1:]
	var m message
	switch table {
	case spendcounter.TableSpend:
		row.Spend = &eventspb.Spend{}
		m = row.Spend
	case spendcounter.TableHours:
		row.Hourly = &eventspb.SpendHour{}
		m, row.Kind = row.Hourly, Hour
		spendKey, row.Hour, err = spendcounter.ParseHourKey(spendKey)
	case spendcounter.TableParts:
		row.Part = &eventspb.SpendPart{}
		m, row.Kind = row.Part, Part
		var lineItem, arm []byte
		spendKey, lineItem, arm, err = spendcounter.ParsePartKey(spendKey)
		row.LineItem, row.Arm = string(lineItem), string(arm)
	default:
		return row, false, nil
	}
	if err != nil {
		return Row{}, false, err
	}
	account, campaign, day, currency, err := spendcounter.ParseKey(spendKey)
	if err != nil {
		return Row{}, false, err
	}
	row.Account, row.Campaign, row.Day, row.Currency = string(account), string(campaign), day, currency
	if value == nil {
		return Row{Key: row.Key}, true, nil
	}
	if err := proto.Unmarshal(value, m); err != nil {
		return Row{}, false, fmt.Errorf("row of %s, campaign %s: %w: read the topic with read_committed and without a converter",
			row.Account, row.Campaign, err)
	}
	return row, true, checkSchema(m.GetSchema())
}

// message is an eventspb.Spend, an eventspb.SpendHour or an eventspb.SpendPart.
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
	}
	return nil
}

// DecodeHealth reads a value of spend.health, which is nil for a tombstone. It returns ErrNewer for
// a newer schema.
func DecodeHealth(value []byte) (*eventspb.SpendHistogram, error) {
	if value == nil {
		return nil, nil
	}
	h := &eventspb.SpendHistogram{}
	if err := proto.Unmarshal(value, h); err != nil {
		return nil, fmt.Errorf("health record: %w: read the topic spend.health without a converter", err)
	}
	return h, checkSchema(h.Schema)
}

func checkSchema(schema uint32) error {
	if schema <= Schema {
		return nil
	}
	return fmt.Errorf("%w: %d, this version reads %d: use the version of this package that the writer has", ErrNewer, schema, Schema)
}

package ingest

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// AdjustmentOptions describe a CSV of adjustments.
type AdjustmentOptions struct {
	// Account, Currency and ServingDC are those of rows that name none. Without a column for them
	// they are required.
	Account, Currency, ServingDC string
	// Reason is the reason of rows that name none: one of AdjustmentReasons. Defaults to refund.
	Reason string
	// Unit is the unit of the amounts: major, cent, fen or micros. It is required, because a wrong
	// guess is wrong by a factor.
	Unit string
	// Map maps fields to columns: see AdjustmentFields. Defaults to the columns whose names are
	// those of fields.
	Map map[string]string
	// Delimiter, Decimal and MaxRowBytes are those of Options.
	Delimiter, Decimal byte
	MaxRowBytes        int
}

// AdjustmentReasons returns the reasons of adjustments.
func AdjustmentReasons() []string { return []string{"refund", "credit", "invalid_traffic"} }

// AdjustmentUnits returns the values of AdjustmentOptions.Unit and their meanings.
func AdjustmentUnits() string {
	return "major (1 is 1.00 USD), cent or fen (0.01 USD), micros (0.000001 USD)"
}

// Fields of an adjustment that a column can hold.
const (
	adjustReference field = iota
	adjustAccount
	adjustCampaign
	adjustDay
	adjustAmount
	adjustCurrency
	adjustServingDC
	adjustReason
)

// AdjustmentFields returns the field names that AdjustmentOptions.Map accepts.
//
//	reference_id  required: unique in the account; the counter applies a reference once for ever
//	campaign      required
//	budget_day    required: YYYYMMDD or YYYY-MM-DD, the day of the spend that the adjustment lowers
//	amount        required: a positive decimal number in AdjustmentOptions.Unit
//	account, currency, serving_dc, reason
//	              those of the options if empty or not mapped
func AdjustmentFields() []string {
	return []string{"reference_id", "account", "campaign", "budget_day", "amount", "currency", "serving_dc", "reason"}
}

// adjustmentMaker fills rows with adjustments.
type adjustmentMaker struct {
	columns    *columnMap
	builder    *builder
	reason     string
	adjustment eventspb.Adjustment
	references recentIDs
	contents   recentIDs // of the rows with these references
}

// NewAdjustmentReader returns a reader of a CSV of adjustments. Each row has an adjustment, or the
// reason why it has none. An error about opt, or about opt and the header, wraps ErrUsage.
func NewAdjustmentReader(r io.Reader, opt AdjustmentOptions) (*Reader, error) {
	if opt.Reason == "" {
		opt.Reason = AdjustmentReasons()[0]
	}
	unit, err := events.ParsePriceUnit(opt.Unit)
	switch {
	case opt.Unit == "":
		return nil, fmt.Errorf("%w: %w: the unit of the amounts has to be named, because 1 can be 1.00 USD or 0.000001 USD: %s", ErrUsage,
			ErrNoPriceUnit, AdjustmentUnits())
	case err != nil || unit != events.UnitMajor && unit != events.UnitCent && unit != events.UnitMicros:
		return nil, usage("unit %.32q of amounts: use %s", opt.Unit, AdjustmentUnits())
	case !slices.Contains(AdjustmentReasons(), opt.Reason):
		return nil, usage("reason %.32q: use %s", opt.Reason, strings.Join(AdjustmentReasons(), ", "))
	}
	set, err := Options{
		Format: FormatCSV, Account: opt.Account, Currency: opt.Currency, DC: opt.ServingDC, PriceUnit: opt.Unit,
		Delimiter: opt.Delimiter, Decimal: opt.Decimal, MaxRowBytes: opt.MaxRowBytes,
	}.settings()
	if err != nil {
		return nil, err
	}
	m := &adjustmentMaker{builder: newBuilder(set), reason: opt.Reason}
	m.builder.noun = "an amount"
	m.references.generation, m.contents.generation = recentIDsPerGeneration, recentIDsPerGeneration
	rows := &rowReader{in: newLineReader(r, set.MaxRowBytes), blank: isEmpty, split: newCSVSplitter(set.Delimiter)}
	header, err := rows.header()
	if err != nil {
		return nil, err
	}
	if err := checkDelimiter(header, set.Delimiter); err != nil {
		return nil, err
	}
	if m.columns, err = resolveColumns(header, AdjustmentFields(), opt.Map); err != nil {
		return nil, err
	}
	return &Reader{in: r, rows: rows, fill: m.fill}, m.checkColumns(header)
}

// checkColumns refuses a column map that would reject every row.
func (m *adjustmentMaker) checkColumns(header []string) error {
	for _, f := range []struct {
		field
		otherwise string // the value of rows without one
	}{
		{adjustReference, ""},
		{adjustCampaign, ""},
		{adjustDay, ""},
		{adjustAmount, ""},
		{adjustAccount, m.builder.set.Account},
		{adjustCurrency, m.builder.set.Currency},
		{adjustServingDC, m.builder.set.DC},
	} {
		if name := AdjustmentFields()[f.field]; !m.columns.has(f.field) && f.otherwise == "" {
			one := "map one by " + name + "=COLUMN"
			if f.field == adjustAccount || f.field == adjustCurrency || f.field == adjustServingDC {
				one += ", or give one for all rows"
			}
			return usage("no column is mapped to %s: %s; the header has %s", name, one, quoted(header))
		}
	}
	return nil
}

func (m *adjustmentMaker) fill(raw *rawRow, row *Row) (err *stream.RejectError) {
	if len(raw.columns) != m.columns.count {
		return reject(ReasonColumns, "the row has %d columns and the header %d", len(raw.columns), m.columns.count)
	}
	a := &m.adjustment
	a.Reset()
	if err := m.setTexts(a, raw.columns); err != nil {
		return err
	}
	day, ok := parseDay(m.columns.value(adjustDay, raw.columns))
	if !ok {
		return reject(ReasonDay, "%q is not a date: write YYYY-MM-DD, the day of the spend", clip(m.columns.value(adjustDay, raw.columns)))
	}
	a.BudgetDay = day
	if a.Micros, err = m.amount(m.columns.value(adjustAmount, raw.columns)); err != nil {
		return err
	}
	content := fmt.Sprintf("%s\x00%s\x00%d\x00%d\x00%s\x00%s\x00%s", a.ReferenceId, a.Campaign, a.BudgetDay, a.Micros, a.Currency,
		a.ServingDc, a.Reason)
	switch known := m.references.add(a.Account, a.ReferenceId); {
	case !known:
		m.contents.add(a.Account, content)
	case m.contents.has(a.Account, content):
		row.Repeated = true
	default:
		return reject(ReasonReference,
			"reference_id %q is in an earlier row with another content: the counter applies a reference once, so give each row its own",
			clip(a.ReferenceId))
	}
	row.Adjustment = a
	return nil
}

// setTexts sets the string fields of a.
func (m *adjustmentMaker) setTexts(a *eventspb.Adjustment, columns []string) *stream.RejectError {
	set := m.builder.set
	for _, f := range []struct {
		field
		to        *string
		otherwise string
		missing   string // reason to reject the row
	}{
		{adjustReference, &a.ReferenceId, "", ReasonReference},
		{adjustAccount, &a.Account, set.Account, ReasonEmptyAccount},
		{adjustCampaign, &a.Campaign, "", ReasonEmptyCampaign},
		{adjustCurrency, &a.Currency, set.Currency, ReasonUnknownCurrency},
		{adjustServingDC, &a.ServingDc, set.DC, ReasonServingDC},
		{adjustReason, &a.Reason, m.reason, ReasonReason},
	} {
		name := AdjustmentFields()[f.field]
		if *f.to = strings.Clone(m.columns.value(f.field, columns)); *f.to == "" {
			*f.to = f.otherwise
		}
		if *f.to == "" {
			return reject(f.missing, "the row has no %s", name)
		}
		if err := checkID(name, *f.to); err != nil {
			return err
		}
	}
	if _, err := m.builder.currency(a.Currency); err != nil {
		return err
	}
	if !slices.Contains(AdjustmentReasons(), a.Reason) {
		return reject(ReasonReason, "%q: write %s", clip(a.Reason), strings.Join(AdjustmentReasons(), ", "))
	}
	return nil
}

// amount parses a positive amount to micros.
func (m *adjustmentMaker) amount(v string) (int64, *stream.RejectError) {
	if strings.HasPrefix(strings.TrimSpace(v), "-") {
		return 0, reject(ReasonAmount, "%s: an adjustment lowers the spend: write its amount without a sign", clip(v))
	}
	micros, err := m.builder.price(v)
	if err != nil {
		return 0, reject(ReasonAmount, "%s", err.Detail)
	}
	if micros == 0 {
		return 0, reject(ReasonAmount, "%q: an adjustment lowers the spend by more than 0", clip(v))
	}
	return micros, nil
}

package ingest

import (
	"fmt"
	"strings"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// tableParser parses CSV with a header: format csv by Options.Map, openbandit by the columns of
// that dataset.
type tableParser struct {
	columns *columnMap
	builder *builder
}

func newTableParser(in *rowReader, b *builder) (*tableParser, error) {
	header, err := in.header()
	if err != nil {
		return nil, err
	}
	if err := checkDelimiter(header, b.set.Delimiter); err != nil {
		return nil, err
	}
	m := b.set.Map
	if b.set.Format == FormatOpenBandit {
		m = map[string]string{"campaign": "item_id", "time": "timestamp", "click": "click"}
	}
	columns, err := resolveColumns(header, Fields(), m)
	if err != nil {
		return nil, err
	}
	return &tableParser{columns: columns, builder: b}, checkColumns(columns, b.set, header)
}

// DelimiterError is the error about a header with another delimiter than that of Options. It wraps
// ErrUsage.
type DelimiterError struct{ Want, Looks byte }

// Error names both delimiters.
func (e *DelimiterError) Error() string {
	return fmt.Sprintf("%v: the header looks separated by %q and not by %q", ErrUsage, e.Looks, e.Want)
}

// Unwrap returns ErrUsage.
func (e *DelimiterError) Unwrap() error { return ErrUsage }

// checkDelimiter refuses a header of one column that contains another common delimiter.
func checkDelimiter(header []string, delimiter byte) error {
	if len(header) != 1 {
		return nil
	}
	for _, other := range []byte(";\t|,") {
		if other != delimiter && strings.IndexByte(header[0], other) >= 0 {
			return &DelimiterError{Want: delimiter, Looks: other}
		}
	}
	return nil
}

// checkColumns refuses a column map that would reject every row.
func checkColumns(c *columnMap, s *settings, header []string) error {
	for _, f := range []field{fieldCampaign, fieldTime} {
		if name := Fields()[f]; !c.has(f) {
			return usage("no column is mapped to %s: map one by %s=COLUMN; the header has %s", name, name, quoted(header))
		}
	}
	switch {
	case !c.has(fieldAccount) && s.Account == "":
		return usage("no account: give one for all rows, or map a column by account=COLUMN")
	case !c.has(fieldCurrency) && s.Currency == "":
		return usage("no currency: give one for all rows, or map a column by currency=COLUMN")
	case c.has(fieldType) && c.has(fieldClick):
		return usage("columns are mapped to both type and click, which contradict each other: map one of them")
	case c.has(fieldPrice) && s.PriceUnit == "":
		return noPriceUnit(fmt.Sprintf("the column %q", header[c.at[fieldPrice]]))
	case c.has(fieldPrice) && s.Price != "":
		return usage("a column is mapped to price, and a fixed price is given: give one of them")
	}
	return nil
}

func (t *tableParser) parse(row *rawRow, d *draft) (err *stream.RejectError) {
	c, values := t.columns, row.columns
	if len(values) != c.count {
		return reject(ReasonColumns, "the row has %d columns and the header %d", len(values), c.count)
	}
	for _, text := range []struct {
		to *string
		f  field
	}{
		{&d.eventID, fieldEventID},
		{&d.account, fieldAccount},
		{&d.campaign, fieldCampaign},
		{&d.currency, fieldCurrency},
		{&d.insertionID, fieldInsertionID},
		{&d.lineItem, fieldLineItem},
		{&d.arm, fieldArm},
		{&d.servingDC, fieldServingDC},
	} {
		if c.has(text.f) {
			*text.to = c.value(text.f, values)
		}
	}
	if err := t.parseDates(values, d); err != nil {
		return err
	}
	d.eventType = eventspb.EventType_EVENT_TYPE_IMPRESSION
	if c.has(fieldType) {
		if d.eventType, err = parseEventType(c.value(fieldType, values)); err != nil {
			return err
		}
	}
	if d.clicked, err = parseClick(c.value(fieldClick, values)); err != nil {
		return err
	}
	d.priceMicros, d.clickPriceMicros = t.builder.set.priceMicros, t.builder.set.clickPriceMicros
	if c.has(fieldPrice) {
		d.priceMicros, err = t.builder.price(c.value(fieldPrice, values))
	}
	return err
}

// parseDates parses the time and the budget day.
func (t *tableParser) parseDates(values []string, d *draft) *stream.RejectError {
	var ok bool
	at := t.columns.value(fieldTime, values)
	if layout := t.builder.set.timeLayout; layout != "" {
		if d.eventMs, ok = parseLayout(layout, at, t.builder.set.timeZone); !ok {
			return reject(ReasonTime, "%q is not a time of the format %q", clip(at), t.builder.set.TimeFormat)
		}
	} else if d.eventMs, ok = parseTime(at, t.builder.set.timeZone); !ok {
		return reject(ReasonTime, "%q is not a time: write RFC 3339, 2006-01-02 15:04:05 or Unix seconds, or name the format", clip(at))
	}
	if day := t.columns.value(fieldBudgetDay, values); day != "" {
		if d.budgetDay, ok = parseDay(day); !ok {
			return reject(ReasonDay, "%q is not a date: write YYYY-MM-DD", clip(day))
		}
	}
	return nil
}

// parseClick parses a click column. An empty value means no click, because many exports leave zeros
// out.
func parseClick(v string) (bool, *stream.RejectError) {
	v = strings.TrimSpace(v)
	switch {
	case v == "" || v == "0" || strings.EqualFold(v, "false"):
		return false, nil
	case v == "1" || strings.EqualFold(v, "true"):
		return true, nil
	}
	return false, reject(ReasonClick, "%q is neither 0 nor 1: a row is one impression, which was clicked or not", clip(v))
}

package ingest

import (
	"bytes"
	"strings"

	"github.com/weirhq/weir/events/eventspb"
)

// table reads CSV with a header: format csv by the user's map, openbandit by its own.
type table struct {
	cols  *columns
	build *builder
}

func newTable(in *rows, b *builder) (*table, error) {
	header, err := in.header()
	if err != nil {
		return nil, err
	}
	m := b.set.Map
	if b.set.Format == FormatOpenBandit {
		m = map[string]string{"campaign": "item_id", "time": "timestamp", "click": "click"}
	}
	cols, err := resolve(header, m)
	if err != nil {
		return nil, err
	}
	return &table{cols: cols, build: b}, checkColumns(cols, b.set, header)
}

// checkColumns refuses a map that would reject every row.
func checkColumns(c *columns, s *settings, header []string) error {
	for _, f := range []field{fieldCampaign, fieldTime} {
		if name := Fields()[f]; !c.has(f) {
			return usage("no column for %s: map one by %s=COLUMN; the header has %s", name, name, strings.Join(header, ", "))
		}
	}
	switch {
	case !c.has(fieldAccount) && s.Account == "":
		return usage("no account: give one for all rows, or map a column by account=COLUMN")
	case !c.has(fieldCurrency) && s.Currency == "":
		return usage("no currency: give one for all rows, or map a column by currency=COLUMN")
	case c.has(fieldType) && c.has(fieldClick):
		return usage("columns for both type and click: a row is of one type, or it is an impression that was clicked or not; map one of them")
	case c.has(fieldPrice) && s.Price != "":
		return usage("a column for price and a fixed price: give one of them")
	}
	return nil
}

func (t *table) parse(row *rawRow, d *draft) (err *Rejection) {
	c, cols := t.cols, row.fields
	if len(cols) != c.count {
		return reject(ReasonColumns, "the row has %d columns and the header %d", len(cols), c.count)
	}
	d.eventID, d.account, d.campaign = c.value(fieldEventID, cols), c.value(fieldAccount, cols), c.value(fieldCampaign, cols)
	d.currency, d.insertion = c.value(fieldCurrency, cols), c.value(fieldInsertionID, cols)
	d.lineItem, d.arm, d.dc = c.value(fieldLineItem, cols), c.value(fieldArm, cols), c.value(fieldServingDC, cols)
	var ok bool
	at := c.value(fieldTime, cols)
	if d.eventMs, ok = parseTime(at, t.build.set.loc); !ok {
		return reject(ReasonTime, "%q is not a time: use RFC 3339, 2006-01-02 15:04:05 or Unix seconds", clip(at))
	}
	if v := c.value(fieldBudgetDay, cols); len(v) > 0 {
		if d.day, ok = parseDay(v); !ok {
			return reject(ReasonDay, "%q is not a day: use YYYYMMDD", clip(v))
		}
	}
	d.kind = eventspb.EventType_EVENT_TYPE_IMPRESSION
	if c.has(fieldType) {
		if d.kind, err = parseKind(c.value(fieldType, cols)); err != nil {
			return err
		}
	}
	if d.click, err = parseClick(c.value(fieldClick, cols)); err != nil {
		return err
	}
	d.price, d.clickPrice = t.build.set.price, t.build.set.clickPrice
	if c.has(fieldPrice) {
		d.price, err = t.build.price(c.value(fieldPrice, cols))
	}
	return err
}

// parseClick reads a click column. An empty one is no click: many exports leave zeros out.
func parseClick(v []byte) (bool, *Rejection) {
	v = bytes.TrimSpace(v)
	switch {
	case len(v) == 0 || len(v) == 1 && v[0] == '0' || bytes.EqualFold(v, []byte("false")):
		return false, nil
	case len(v) == 1 && v[0] == '1' || bytes.EqualFold(v, []byte("true")):
		return true, nil
	}
	return false, reject(ReasonClick, "%q is neither 0 nor 1: a row stands for one impression", clip(v))
}

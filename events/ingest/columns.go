package ingest

import (
	"slices"
	"strings"
)

// field is a value of an event that a CSV column can hold.
type field int

const (
	fieldEventID field = iota
	fieldAccount
	fieldCampaign
	fieldTime
	fieldPrice
	fieldClick
	fieldType
	fieldCurrency
	fieldLineItem
	fieldArm
	fieldServingDC
	fieldInsertionID
	fieldBudgetDay
)

// Fields returns the field names that Options.Map accepts.
//
//	event_id      kept as it is; derived from the row if empty or not mapped
//	account       the account that is charged
//	campaign      required
//	time          required: RFC 3339, the same without a zone, Unix time in seconds, milliseconds
//	              or microseconds, yyyyMMddHHmmss or yyyyMMddHHmmssSSS
//	price         decimal number in Options.PriceUnit
//	click         0, 1, true, false or empty: 1 makes an impression and a click of the row
//	type          event type by name or number, in place of click; impression if not mapped
//	currency      ISO 4217 code
//	budget_day    YYYYMMDD or YYYY-MM-DD; the day of time in Options.TZ if empty or not mapped
//	line_item, arm, serving_dc, insertion_id
//	              texts that the event carries
func Fields() []string {
	return []string{
		"event_id", "account", "campaign", "time", "price", "click", "type", "currency", "line_item", "arm",
		"serving_dc", "insertion_id", "budget_day",
	}
}

// columnMap holds the column of each field.
type columnMap struct {
	at    []int // by field: index of the column, -1 without one
	count int   // columns of the header
}

// value returns a field's value in a row, "" without a column.
func (c *columnMap) value(f field, row []string) string {
	if c.at[f] < 0 {
		return ""
	}
	return row[c.at[f]]
}

func (c *columnMap) has(f field) bool { return c.at[f] >= 0 }

// resolveColumns finds the columns of m (field to column name) in header. names are the fields. An
// empty m stands for the columns whose names are those of fields.
func resolveColumns(header, names []string, m map[string]string) (*columnMap, error) {
	for name := range m {
		if !slices.Contains(names, name) {
			return nil, usage("column map: unknown field %q%s The fields are %s", name, sentence(didYouMean(name, names)),
				strings.Join(names, ", "))
		}
	}
	c := &columnMap{count: len(header), at: make([]int, len(names))}
	for f, name := range names {
		column, wanted := m[name]
		if len(m) == 0 {
			column, wanted = name, slices.Contains(header, name)
		}
		c.at[f] = -1
		if !wanted {
			continue
		}
		c.at[f] = slices.Index(header, column)
		switch {
		case c.at[f] < 0:
			return nil, usage("column map: %s=%q: no column %q in the header%s The columns are %s",
				name, column, column, sentence(didYouMean(column, header)), quoted(header))
		case slices.Contains(header[c.at[f]+1:], column):
			return nil, usage("column map: %s=%q: the header has two columns %q: rename one of them", name, column, column)
		}
	}
	return c, nil
}

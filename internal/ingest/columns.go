package ingest

import (
	"slices"
	"strings"
)

// field is a meaning that a CSV column can have.
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
	numFields
)

// Fields lists the names that Options.Map accepts.
//
//	event_id      kept as it is; empty or not mapped: derived
//	account       charged account
//	campaign      required
//	time          required: RFC 3339, the same without zone, Unix seconds, millis, micros, yyyyMMddHHmmss[SSS]
//	price         decimal number in Options.PriceUnit
//	click         0, 1, true, false or empty: 1 makes the row an impression and a click
//	type          an EventType by name or number, in place of click; not mapped: impression
//	currency      ISO 4217
//	budget_day    YYYYMMDD or YYYY-MM-DD; empty or not mapped: the day of time in Options.TZ
//	line_item, arm, serving_dc, insertion_id
func Fields() []string {
	return []string{
		"event_id", "account", "campaign", "time", "price", "click", "type", "currency", "line_item", "arm",
		"serving_dc", "insertion_id", "budget_day",
	}
}

// columns holds the column of each field, -1 where there is none, and the number of columns of the header.
type columns struct {
	at    [numFields]int
	count int
}

// value is a field's bytes in a row, nil where no column is mapped to it, never nil where one is.
func (c *columns) value(f field, row [][]byte) []byte {
	if c.at[f] < 0 {
		return nil
	}
	return row[c.at[f]]
}

func (c *columns) has(f field) bool { return c.at[f] >= 0 }

// resolve finds the columns of m in header; without m, the columns that are named like fields.
func resolve(header []string, m map[string]string) (*columns, error) {
	names := Fields()
	for name := range m {
		if !slices.Contains(names, name) {
			return nil, usage("column map: unknown field %q: did you mean %q? There are %s", name, nearest(name, names), strings.Join(names, ", "))
		}
	}
	c := &columns{count: len(header)}
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
			return nil, usage("column map: %s=%s: no column %q in the header: did you mean %q? There are %s",
				name, column, column, nearest(column, header), strings.Join(header, ", "))
		case slices.Contains(header[c.at[f]+1:], column):
			return nil, usage("column map: %s=%s: the header has two columns %q: rename one", name, column, column)
		}
	}
	return c, nil
}

// nearest is the name that takes the fewest edits to reach from s, without regard to case.
func nearest(s string, names []string) string {
	best, least := "", int(^uint(0)>>1)
	for _, name := range names {
		if d := distance(strings.ToLower(s), strings.ToLower(name)); d < least {
			best, least = name, d
		}
	}
	return best
}

// distance is Levenshtein's. Names that are very long are cut: a header is input too.
func distance(a, b string) int {
	const most = 128
	a, b = a[:min(len(a), most)], b[:min(len(b), most)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

package cli

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"reflect"
	"time"
)

// writeCSV writes a line of column names and a line for each row, as RFC 4180 has it, with LF. It
// has the columns of -o wide. Characters that are not printable are escaped, as in tables; JSON has
// the same text after decoding.
func writeCSV[T any](w io.Writer, rows []T) error {
	t := reflect.TypeFor[T]()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	cols := columnsOf(t, true)
	out := csv.NewWriter(w)
	line := make([]string, len(cols))
	for i, c := range cols {
		line[i] = c.key
	}
	if err := out.Write(line); err != nil {
		return err
	}
	for i := range rows {
		v := reflect.Indirect(reflect.ValueOf(rows[i]))
		for j, c := range cols {
			s, err := csvText(v.FieldByIndex(c.index))
			if err != nil {
				return err
			}
			line[j] = Printable(s)
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// csvText returns the text of a value for programs. A type may have words for tables and a number
// for JSON: the number is returned.
func csvText(v reflect.Value) (string, error) {
	switch x := v.Interface().(type) {
	case time.Time, *time.Time: // their JSON has quotes
	case json.Marshaler:
		number, err := json.Marshal(x)
		return string(number), err
	}
	return text(v), nil
}

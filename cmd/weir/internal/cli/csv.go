package cli

import (
	"encoding/csv"
	"io"
	"reflect"
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
			line[j] = Printable(text(v.FieldByIndex(c.index)))
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

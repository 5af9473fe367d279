package cli

import (
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// column is a field of the struct of a row.
type column struct {
	name    string // as in a table
	key     string // as in JSON
	index   []int
	numeric bool
}

// columnsOf returns the fields of struct t that are columns. The fields of an embedded struct count
// as fields of t, as in JSON.
func columnsOf(t reflect.Type, wide bool) []column {
	var cols []column
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		show := f.Tag.Get("table")
		if !f.IsExported() || f.Anonymous || name == "-" || show == "-" || (show == "wide" && !wide) {
			continue
		}
		if name == "" {
			name = f.Name
		}
		cols = append(cols, column{strings.ReplaceAll(name, "_", " "), name, f.Index, numeric(f.Type)})
	}
	return cols
}

func numeric(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		_, text := reflect.Zero(t).Interface().(fmt.Stringer)
		return !text
	default:
		return false
	}
}

// WriteTable writes a line of column names and a line for each row, a struct or a pointer to one.
// Numbers are aligned to the right.
func WriteTable[T any](w io.Writer, rows []T, wide bool) error {
	t := reflect.TypeFor[T]()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	cols := columnsOf(t, wide)
	head := make([]string, len(cols))
	for i, c := range cols {
		head[i] = strings.ToUpper(c.name)
	}
	lines := [][]string{head}
	for i := range rows {
		v := reflect.Indirect(reflect.ValueOf(rows[i]))
		line := make([]string, len(cols))
		for j, c := range cols {
			line[j] = cell(v.FieldByIndex(c.index))
		}
		lines = append(lines, line)
	}
	return writeLines(w, cols, lines)
}

// writePairs writes a struct, one field per line.
func writePairs[T any](w io.Writer, row T, wide bool) error {
	v := reflect.Indirect(reflect.ValueOf(row))
	var lines [][]string
	for _, c := range columnsOf(v.Type(), wide) {
		lines = append(lines, []string{c.name + ":", cell(v.FieldByIndex(c.index))})
	}
	return writeLines(w, make([]column, 2), lines)
}

// writeLines writes cells in aligned columns.
func writeLines(w io.Writer, cols []column, lines [][]string) error {
	width := make([]int, len(cols))
	for _, line := range lines {
		for i, s := range line {
			width[i] = max(width[i], utf8.RuneCountInString(s))
		}
	}
	for _, line := range lines {
		var b strings.Builder
		for i, s := range line {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(s))
			if cols[i].numeric {
				b.WriteString(pad + s)
			} else {
				b.WriteString(s + pad)
			}
			b.WriteString("   ")
		}
		if _, err := io.WriteString(w, strings.TrimRight(b.String(), " ")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// text returns the text of a value, empty for a nil pointer and for no time.
func text(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	switch x := v.Interface().(type) {
	case time.Time:
		if x.IsZero() {
			return ""
		}
		return x.Format(time.RFC3339Nano)
	case []string:
		return strings.Join(x, ",")
	case float64: // without an exponent
		return strconv.FormatFloat(x, 'f', -1, 64)
	default:
		return fmt.Sprint(x)
	}
}

// cell returns the text of a value, "-" for an empty one. Characters that are not printable are
// escaped, because a name from outside must not control the terminal.
func cell(v reflect.Value) string {
	s := text(v)
	if s == "" {
		return "-"
	}
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.QuoteToGraphic(s)
	}
	return s
}

package ingest

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/weirhq/weir/stream"
)

// syntaxError rejects a row that is not valid JSON.
func syntaxError(row []byte) *stream.RejectError {
	var ignored json.RawMessage
	err := json.Unmarshal(row, &ignored)
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return reject(ReasonJSON, "%v", err)
	}
	return reject(ReasonJSON, "at byte %d: %v: %s", syntax.Offset, syntax, syntaxRemedy(syntax.Error()))
}

// syntaxRemedy returns what to write in place of what encoding/json reports. encoding/json promises
// no wording: a report in other words gets the general remedy.
func syntaxRemedy(report string) string {
	for _, r := range []struct{ report, remedy string }{
		{"unexpected end", "the row ends too early: end every string and the object"},
		{"after object key:value pair", "write a comma or } there"},
		{"after object key", "write a colon there"},
		{"looking for beginning of object key string", `write a field's name there, as a string "..."`},
		{"in string literal", `write the control character as an escape such as \t`},
		{"escape", `a JSON string knows the escapes \" \\ \/ \b \f \n \r \t and \u with four hexadecimal digits`},
		{"after top-level value", "write the end of the row there: one object per row"},
	} {
		if strings.Contains(report, r.report) {
			return r.remedy
		}
	}
	return "write one JSON object per row"
}

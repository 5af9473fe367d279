package lint

import "testing"

func TestCheckEvents(t *testing.T) {
	doc := File{eventsDoc, []byte("| event | x |\n|---|---|\n| `a_b` | x |\n")}
	code := func(call string) File {
		return file("processors/a.go", "func f() { log.Info().Str(\"x\", \"y z\")."+call+" }")
	}
	for _, tc := range []struct {
		name  string
		files []File
		want  string
	}{
		{"explained", []File{doc, code(`Msg("a_b")`)}, ""},
		{"not explained", []File{doc, code(`Msg("a_b")`), file("processors/x/b.go", `func f() { l.Msg("c") }`)}, "b.go:4:12: the event c has no row"},
		{"of the loop", []File{doc, code(`Msg("a_b")`), file("bridge/b.go", `func f() { l.Msg("c_d") }`)}, "the event c_d has no row"},
		{"of the API", []File{doc, code(`Msg("a_b")`), file("api/b.go", `func f() { l.Msg("api.c") }`)}, ""},
		{"in a test", []File{doc, code(`Msg("a_b")`), file("processors/b_test.go", `func f() { l.Msg("So it is") }`)}, ""},
		{"a sentence", []File{doc, code(`Msg("a_b")`), file("api/b.go", `func f() { l.Msg("So it is") }`)}, `the log message "So it is" is not an event name`},
		{"made up", []File{doc, code(`Msg("a_b")`), file("api/b.go", `func f() { l.Msg("a_" + x) }`)}, "that is not a literal"},
		{"format", []File{doc, code(`Msg("a_b")`), file("api/b.go", `func f() { l.Msgf("a %d", 1) }`)}, "is not an event name"},
		{"a caller's", []File{doc, code(`Msg("a_b")`), file("obs/b.go", `func f() { l.Msg(s.event) }`)}, ""},
		{"a duration", []File{doc, code(`Dur("took_ms", d).Msg("a_b")`)}, ""},
		{"a duration without a unit", []File{doc, code(`Dur("took", d).Msg("a_b")`)}, `the field "took" of a log event is a duration without a unit`},
		{"explained in vain", []File{doc}, "has a row for the event a_b, which no code logs"},
	} {
		t.Run(tc.name, func(t *testing.T) { one(t, CheckEvents(tc.files), tc.want) })
	}
}

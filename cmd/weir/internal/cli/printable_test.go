package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"größer 客户 \"x\" \\ a\n\tb": "größer 客户 \"x\" \\ a\n\tb",
		"\x1b]0;pwned\a\x1b[31m":    `\x1b]0;pwned\a\x1b[31m`,
		"\u009b1m \u202e \u200b":    `\u009b1m \u202e \u200b`,
		"\xff\x9b\r":                `\xff\x9b\r`,
		"no\u00a0break":             `no\u00a0break`,
	} {
		if got := Printable(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

// TestMessagesArePrintable: nothing that an error or a note quotes reaches the terminal as it is.
func TestMessagesArePrintable(t *testing.T) {
	const name = "e\x1b[31m\u009b\u202evil.csv"
	var out bytes.Buffer
	a := NewApp(Process{Stderr: &out})
	a.Notef("%s has each row", name)
	a.report(Fail(ExitData, "cannot read "+name, errors.New("open "+name), "move "+name))
	if strings.ContainsAny(out.String(), "\x1b\u009b\u202e") || strings.Count(out.String(), `e\x1b[31m\u009b\u202evil.csv`) != 4 {
		t.Errorf("%q", out.String())
	}
}

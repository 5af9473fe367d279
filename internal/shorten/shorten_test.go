package shorten

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"", 0, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc"}, {"aé", 2, "a"}, {"é", 1, ""}, {"a\xffb", 9, "a\uFFFDb"}, {"a\xff", 2, "a"},
	} {
		if got := Text(c.text, c.most); got != c.want {
			t.Errorf("Text(%q, %d) = %q, want %q", c.text, c.most, got, c.want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\xffé", 2)
	f.Fuzz(func(t *testing.T, text string, most int) {
		most = max(0, most%64)
		got := Text(text, most)
		if len(got) > most || !utf8.ValidString(got) || utf8.ValidString(text) && !strings.HasPrefix(text, got) {
			t.Errorf("Text(%q, %d) = %q", text, most, got)
		}
	})
}

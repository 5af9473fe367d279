package lint

import (
	"strings"
	"testing"
)

// glossary is one with a table of retired words.
const glossary = "# Glossary\n\n| term | meaning |\n|---|---|\n| `told` | is in another table |\n\n" + retiredHeading + "\n\nText.\n\n" +
	"| retired | write instead |\n| --- | :-: |\n" +
	"| `tells?`, `told` (of code) | *reports* |\n" +
	"| `seat(ing\\|ed)` | assignor |\n\n### Names\n\n| retired | write instead |\n|---|---|\n" +
	"| `(?-i)[.)] ?Fire\\(` | OnTimer |\n\n" +
	"## Another\n\n| `bucket` | no |\n"

func TestParseRetired(t *testing.T) {
	list, err := ParseRetired([]byte(glossary))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range list {
		got = append(got, r.Word.String()+" "+r.Instead)
	}
	const want = `(?i:tells?) *reports*; (?i:told) *reports*; (?i:seat(ing|ed)) assignor; (?i:(?-i)[.)] ?Fire\() OnTimer`
	if s := strings.Join(got, "; "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}

func TestParseRetiredErrors(t *testing.T) {
	const head = retiredHeading + "\n| retired | write instead |\n|---|---|\n"
	for _, tc := range []struct{ name, text, want string }{
		{"no section", "# Glossary\n| `a` | b |\n", "docs/glossary.md has no table below the heading"},
		{"no table", retiredHeading + "\nNone.\n", "docs/glossary.md has no table below"},
		{"no row", head, "docs/glossary.md has no table below"},
		{"table of another section", retiredHeading + "\n## Terms\n| `a` | b |\n", "docs/glossary.md has no table below"},
		{"one cell", head + "| `a` |\n", "docs/glossary.md:4: a row needs two cells"},
		{"three cells", head + "| `a` | b | c |\n", "docs/glossary.md:4: a row needs two cells"},
		{"a bar that is not escaped", head + "| `a|b` | c |\n", "docs/glossary.md:4: a row needs two cells"},
		{"nothing to write", head + "| `a` | |\n", "docs/glossary.md:4: a row needs two cells"},
		{"no expression", head + "| a | b |\n", "docs/glossary.md:4: the first cell has no expression"},
		{"wrong expression", head + "| `a` | b |\n| `a(` | b |\n", "docs/glossary.md:5: error parsing regexp"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := ParseRetired([]byte(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

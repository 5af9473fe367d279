package lint

import (
	"slices"
	"testing"
)

const root = "../.."

func TestImportsRunDownwards(t *testing.T) {
	graph, err := ListPackages(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	if len(graph) < 5 {
		t.Fatalf("go list found %d packages", len(graph))
	}
	complain(t, CheckImports(graph))
}

// repository returns the files of the repository.
func repository(t *testing.T) []File {
	t.Helper()
	files, err := ReadFiles(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Fatalf("found %d files", len(files))
	}
	return files
}

func TestStyle(t *testing.T) {
	files := repository(t)
	complain(t, CheckWrites(files))
	complain(t, CheckText(files))
	complain(t, CheckEvents(files))
	complain(t, CheckTags(files))
}

// TestWords holds that no text has a word that the glossary retires.
func TestWords(t *testing.T) {
	files := repository(t)
	i := slices.IndexFunc(files, func(f File) bool { return f.Path == glossaryDoc })
	if i < 0 {
		t.Skipf("%s does not exist yet: no word is retired", glossaryDoc)
	}
	retired, err := ParseRetired(files[i].Text)
	if err != nil {
		t.Fatal(err)
	}
	complain(t, CheckWords(files, retired, wordsKept()))
}

// TestWidth holds the width of lines of prose.
func TestWidth(t *testing.T) {
	complain(t, CheckWidth(repository(t)))
}

// TestCodeWidth holds the width of lines of code.
func TestCodeWidth(t *testing.T) {
	complain(t, CheckCodeWidth(repository(t)))
}

// TestInvariants holds that the list of the invariants and the code have the same numbers, and that
// the list names existing code and tests.
func TestInvariants(t *testing.T) {
	complain(t, CheckInvariants(repository(t)))
}

// wordsKept returns texts with a retired word that are permitted, because other programs define or
// read them.
func wordsKept() []string {
	return []string{
		`"elsewhere"`,    // a state of a partition, in answers of the API
		`"SUBPARTITION"`, // a reserved word of DynamoDB
		"http.NoBody",
		`"region_lease"`, // a key of answers in JSON
	}
}

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

// TestWords holds the glossary's list of retired words.
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
	ratchet(t, CheckWords(files, retired, wordsKept()), wordsPending())
}

// TestWidth holds the width of prose.
func TestWidth(t *testing.T) {
	ratchet(t, CheckWidth(repository(t)), widthPending())
}

// ratchet reports the complaints about files that no pattern of pending covers, and each pattern
// that is not needed.
func ratchet(t *testing.T, complaints, pending []string) {
	t.Helper()
	rest, idle := Outside(complaints, pending)
	complain(t, rest)
	for _, p := range idle {
		t.Errorf("%s is clean: remove it from the list of what is pending", p)
	}
	t.Logf("%d complaints, of which %d are pending", len(complaints), len(complaints)-len(rest))
}

// wordsKept returns texts with a retired word that may stay, because programs of others read them.
func wordsKept() []string {
	return []string{`"elsewhere"`} // a state of a partition, in answers of the API
}

// wordsPending returns what still has retired words (see Outside). The list may only get shorter.
func wordsPending() []string {
	return textPending()
}

// widthPending returns what still has lines of prose that are too wide (see Outside). The list may
// only get shorter.
func widthPending() []string {
	return textPending()
}

// textPending returns what the pass over the project's prose has not reached. The list may only get
// shorter: what TestWords or TestWidth alone still needs moves to the list of that test.
func textPending() []string {
	return []string{
		"agent/...", "api/...", "balancer/...", "bench/...", "bridge/...", "cmd/...", "compose/...",
		"dedup/...", "dynamotest/...", "events/...", "executor/...",
		"internal/dynoxide", "internal/invariant", "internal/lint/imports.go",
		"lease/...", "liberator/...", "processors/...", "spendcounter/...", "stream/...", "test/...",
	}
}

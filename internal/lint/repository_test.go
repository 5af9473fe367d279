package lint

import (
	"testing"
)

const root = "../.."

// variablesAllowed excuses package-level variables that change, "path/of/file.go:name" with the reason.
func variablesAllowed() map[string]string {
	return map[string]string{}
}

func complain(t *testing.T, complaints []string) {
	t.Helper()
	for _, c := range complaints {
		t.Error(c)
	}
}

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

func TestStyle(t *testing.T) {
	files, err := ReadFiles(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Fatalf("found %d files", len(files))
	}
	complain(t, CheckSource(files, variablesAllowed()))
	complain(t, CheckText(files))
	complain(t, CheckEvents(files))
	complain(t, CheckTags(files))
	for excused := range variablesAllowed() {
		bare := variablesAllowed()
		delete(bare, excused)
		if len(CheckSource(files, bare)) == len(CheckSource(files, variablesAllowed())) {
			t.Errorf("%s needs no excuse any more: remove it from the list", excused)
		}
	}
}

package lint

import "testing"

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

package lint

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// CheckText returns a complaint for each line with a mark of deferred work, and for each line with
// the name of a host of packages or images, because mirrors are settings of a machine and not of
// the project. It does not read binary files, testdata and module files.
func CheckText(files []File) []string {
	mark := regexp.MustCompile(`\b(` + strings.Join(marks(), "|") + `)\b`)
	var quoted []string
	for _, h := range hosts() {
		quoted = append(quoted, regexp.QuoteMeta(h))
	}
	host := regexp.MustCompile(`\b(` + strings.Join(quoted, "|") + `)\b`)
	var bad []string
	for _, f := range files {
		if slices.Contains([]string{"go.mod", "go.sum"}, path.Base(f.Path)) || strings.Contains(f.Path, "testdata/") ||
			bytes.IndexByte(f.Text, 0) >= 0 {
			continue
		}
		for i, line := range bytes.Split(f.Text, []byte("\n")) {
			if m := mark.Find(line); m != nil {
				bad = append(bad,
					fmt.Sprintf("%s:%d: %s marks deferred work, which is lost in the source: open an issue, or do the work now", f.Path,
						i+1, m))
			}
			if h := host.Find(line); h != nil {
				bad = append(bad,
					fmt.Sprintf("%s:%d: %s is a host of packages or images, which each machine configures: write the name without a host",
						f.Path, i+1, h))
			}
		}
	}
	return bad
}

// marks and hosts build their texts from pieces, so that there is no complaint about this file.
func marks() []string { return []string{"TO" + "DO", "FIX" + "ME"} }

func hosts() []string {
	var all []string
	for _, h := range [][2]string{
		{"docker", "io"},
		{"ghcr", "io"},
		{"quay", "io"},
		{"gcr", "io"},
		{"registry.k8s", "io"},
		{"public.ecr", "aws"},
		{"proxy.golang", "org"},
		{"sum.golang", "org"},
		{"registry.npmjs", "org"},
		{"repo1.maven", "org"},
		{"repo.maven.apache", "org"},
		{"deb.debian", "org"},
		{"index.crates", "io"},
		{"static.crates", "io"},
		{"pypi", "org"},
	} {
		all = append(all, h[0]+"."+h[1])
	}
	return all
}

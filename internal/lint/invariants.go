package lint

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// invariantsDoc lists the invariants of the project. Each has a row that begins with its number.
const invariantsDoc = "docs/invariants.md"

// CheckInvariants returns a complaint for each number of an invariant that has no row in
// invariantsDoc, for each row that is not the only one of its number or whose number is in no Go
// file, and for each path and each test in invariantsDoc that does not exist. A path is in
// backquotes and has a slash. A test has the folder of its package: `processors.TestCrashes`.
func CheckInvariants(files []File) []string {
	number := regexp.MustCompile(`\b(RUN|SPEND|API|MIRROR|PUSH|CACHE|PACE|LEASE|JOB|DEV)-[0-9]+\b`)
	row := regexp.MustCompile(`(?m)^\| (` + number.String() + `) \|`)
	rows, inGo := map[string]int{}, map[string]bool{}
	var bad []string
	for _, f := range files {
		if f.Path != invariantsDoc {
			continue
		}
		for _, m := range row.FindAllSubmatch(f.Text, -1) {
			rows[string(m[1])]++
		}
		bad = missingNames(f, files)
	}
	for _, f := range files {
		if !namesInvariants(f.Path) {
			continue
		}
		for _, fr := range lines(1, string(f.Text)) {
			for _, n := range number.FindAllString(fr.text, -1) {
				if rows[n] == 0 {
					bad = append(bad,
						fmt.Sprintf(
							"%s:%d: the invariant %s has no row in %s, where readers look it up: add a row, or write the number of a row",
							f.Path, fr.line, n, invariantsDoc))
				}
				inGo[n] = inGo[n] || isGo(f.Path)
			}
		}
	}
	for n, count := range rows {
		if count > 1 {
			bad = append(bad, fmt.Sprintf("%s has %d rows for %s: give the new one the next number of its part", invariantsDoc, count, n))
		}
		if !inGo[n] {
			bad = append(bad,
				fmt.Sprintf(
					"%s has a row for %s, which no Go file names: write the number where the invariant is kept or checked, or remove the row", invariantsDoc, n))
		}
	}
	slices.Sort(bad)
	return bad
}

// namesInvariants reports whether the file may name invariants. This package has numbers without a
// row in its tests.
func namesInvariants(name string) bool {
	return slices.Contains([]string{".go", ".md", ".proto"}, path.Ext(name)) && !strings.Contains(name, "testdata/") &&
		!strings.HasPrefix(name, "internal/lint/")
}

// missingNames returns a complaint for each path and each test in doc that does not exist.
func missingNames(doc File, files []File) []string {
	test, quoted := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`), regexp.MustCompile("`([\\w./-]+)`")
	isTestName, isPath := regexp.MustCompile(`^[\w/]+\.(Test|Fuzz)\w+$`), regexp.MustCompile(`^\w[\w.-]*(/[\w.-]+)+$`)
	exists := map[string]bool{}
	for _, f := range files {
		for dir := f.Path; dir != "."; dir = path.Dir(dir) {
			exists[dir] = true
		}
		if isTest(f.Path) {
			for _, m := range test.FindAllSubmatch(f.Text, -1) {
				exists[path.Dir(f.Path)+"."+string(m[1])] = true
			}
		}
	}
	var bad []string
	for _, fr := range lines(1, string(doc.Text)) {
		for _, m := range quoted.FindAllStringSubmatch(fr.text, -1) {
			if name := m[1]; (isTestName.MatchString(name) || isPath.MatchString(name)) && !exists[name] {
				bad = append(bad, fmt.Sprintf("%s:%d: %s does not exist: write the present name", doc.Path, fr.line, name))
			}
		}
	}
	return bad
}

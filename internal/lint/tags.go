package lint

import (
	"bytes"
	"fmt"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
)

// testTag is the build tag of tests in simulated time. No file of the repository can set it for `go
// test ./...`. So a package whose tests need the tag also has a test that runs without the tag, and
// fails.
const testTag = "synctests"

// untaggedFile is the name of the file with that test.
const untaggedFile = "untagged_test.go"

// UntaggedTest returns the content of untaggedFile for the package with that name.
func UntaggedTest(name string) []byte {
	return []byte(`//go:build !` + testTag + `

package ` + name + `

import "testing"

// TestBuildTag fails: without the build tag, go test would leave out most tests of this package and
// report success. The tag makes the mutexes of the Kafka client visible to testing/synctest.
// internal/lint holds the text of this file.
func TestBuildTag(t *testing.T) {
	t.Fatal("tests of this package need a build tag: run make test, or go test -tags ` + testTag + ` ./...")
}
`)
}

// CheckTags returns a complaint for each folder with test files that need testTag but without the
// failing test, and for each failing test that no file needs.
func CheckTags(files []File) []string {
	tagged, untagged := map[string]File{}, map[string]File{}
	for _, f := range files {
		switch dir := path.Dir(f.Path); {
		case !isGo(f.Path) || !isTest(f.Path):
		case path.Base(f.Path) == untaggedFile:
			untagged[dir] = f
		case needsTag(f.Text):
			tagged[dir] = f
		}
	}
	var bad []string
	for dir, f := range tagged {
		name, err := packageName(f)
		want := UntaggedTest(strings.TrimSuffix(name, "_test"))
		switch got, ok := untagged[dir]; {
		case err != nil:
			bad = append(bad, fmt.Sprintf("%s does not parse: %v", f.Path, err))
		case !ok:
			bad = append(bad,
				fmt.Sprintf(
					"%s needs the build tag %s, without which go test leaves it out and passes: add %s/%s, which then fails, with this text:\n%s", f.Path, testTag, dir, untaggedFile, want))
		case !bytes.Equal(got.Text, want):
			bad = append(bad, fmt.Sprintf("%s differs from the text that it must have in every package: replace it by\n%s", got.Path, want))
		}
	}
	for dir, f := range untagged {
		if _, ok := tagged[dir]; !ok {
			bad = append(bad, fmt.Sprintf("%s: no test of the package needs the build tag %s: remove the file", f.Path, testTag))
		}
	}
	slices.Sort(bad)
	return bad
}

// needsTag reports whether a Go file is part of the build with testTag and not of the build without
// it.
func needsTag(text []byte) bool {
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "package ") {
			return false
		}
		if !constraint.IsGoBuild(line) {
			continue
		}
		expr, err := constraint.Parse(line)
		if err != nil {
			return false // the compiler reports it
		}
		for _, others := range []bool{true, false} {
			with := expr.Eval(func(tag string) bool { return tag == testTag || others })
			without := expr.Eval(func(tag string) bool { return tag != testTag && others })
			if with && !without {
				return true
			}
		}
		return false
	}
	return false
}

// packageName returns the name in the package clause of f.
func packageName(f File) (string, error) {
	tree, err := parser.ParseFile(token.NewFileSet(), f.Path, f.Text, parser.PackageClauseOnly)
	if err != nil {
		return "", err
	}
	return tree.Name.Name, nil
}

package buildinfo

import (
	"os"
	"runtime/debug"
	"strings"
	"testing"
)

// TestVersion: a build of a tag has its version, and any other build that of the next release with
// -dev. A program that uses weir as a library has a version of its own.
func TestVersion(t *testing.T) {
	commit := []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}}
	for what, x := range map[string]struct {
		info            debug.BuildInfo
		version, commit string
	}{
		"no build info":       {debug.BuildInfo{}, Release + "-dev", "unknown"},
		"tag":                 {debug.BuildInfo{Main: debug.Module{Path: module, Version: "v0.3.1"}, Settings: commit}, "v0.3.1", "abc"},
		"release candidate":   {debug.BuildInfo{Main: debug.Module{Path: module, Version: "v0.3.1-rc.2"}}, "v0.3.1-rc.2", "unknown"},
		"modified tag":        {debug.BuildInfo{Main: debug.Module{Path: module, Version: "v0.3.1+dirty"}, Settings: commit}, Release + "-dev", "abc"},
		"commit":              {debug.BuildInfo{Main: debug.Module{Path: module, Version: "v0.0.0-20261125120000-0123456789ab"}}, Release + "-dev", "unknown"},
		"no version control":  {debug.BuildInfo{Main: debug.Module{Path: module, Version: "(devel)"}}, Release + "-dev", "unknown"},
		"library":             {debug.BuildInfo{Main: debug.Module{Path: "example.com/p", Version: "v9.9.9"}, Deps: []*debug.Module{{Path: "x", Version: "v1.0.0"}, {Path: module, Version: "v0.3.1"}}, Settings: commit}, "v0.3.1", "unknown"},
		"library in a folder": {debug.BuildInfo{Main: debug.Module{Path: "example.com/p"}, Deps: []*debug.Module{{Path: module, Version: "v0.3.1", Replace: &debug.Module{Path: "../weir"}}}}, Release + "-dev", "unknown"},
	} {
		if got := read(&x.info); got.Version != x.version || got.Commit != x.commit {
			t.Errorf("%s: version %s, commit %s, want %s and %s", what, got.Version, got.Commit, x.version, x.commit)
		}
	}
}

// TestChangelog: the changelog begins with the release of this tree.
func TestChangelog(t *testing.T) {
	text, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	_, first, _ := strings.Cut(string(text), "\n## ")
	if name, _, _ := strings.Cut(first, "\n"); name != Release {
		t.Errorf("the first section of CHANGELOG.md is %q, want %q", name, Release)
	}
}

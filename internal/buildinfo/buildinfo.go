package buildinfo

import (
	"regexp"
	"runtime"
	"runtime/debug"
)

// Release is the release that this tree is, or becomes. CONTRIBUTING.md has the steps of a release.
const Release = "v0.1.0"

const module = "github.com/weirhq/weir"

// Info identifies a build of weir.
type Info struct {
	Version  string `json:"version"`  // a release such as v0.1.0, or v0.1.0-dev: built before the tag of v0.1.0
	Commit   string `json:"commit"`   // "unknown" without version control, and in a program that uses weir as a library
	Modified bool   `json:"modified"` // the tree had changes that are in no commit
	Time     string `json:"time"`     // of the commit, RFC 3339
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Read reads what the compiler left in the binary about weir.
func Read() Info {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return read(info)
}

func read(info *debug.BuildInfo) Info {
	v := Info{Version: Release + "-dev", Commit: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info.Main.Path != module {
		for _, dep := range info.Deps {
			if dep.Path == module && dep.Replace == nil {
				v.Version = version(dep.Version)
			}
		}
		return v
	}
	v.Version = version(info.Main.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		case "vcs.time":
			v.Time = s.Value
		}
	}
	return v
}

// tag is the form of a tagged version. The compiler gives other commits a pseudo-version, a
// modified tree "+dirty", and a build without version control "(devel)".
var tag = regexp.MustCompile(`^v\d+\.\d+\.\d+(-rc\.\d+)?$`)

// version returns the version of a tagged build, or that of a build before the tag of Release.
func version(stamped string) string {
	if tag.MatchString(stamped) {
		return stamped
	}
	return Release + "-dev"
}

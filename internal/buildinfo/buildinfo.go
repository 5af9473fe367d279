package buildinfo

import (
	"runtime"
	"runtime/debug"
)

// Info identifies a build of weir.
type Info struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`   // "unknown" in a build without version control
	Modified bool   `json:"modified"` // the tree had changes that are in no commit
	Time     string `json:"time"`     // of the commit, RFC 3339
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Read reads what the compiler left in the binary.
func Read() Info {
	v := Info{Version: "(devel)", Commit: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
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

package lint

import (
	"fmt"
	"slices"
	"strings"
)

// Module is the import path of this module.
const Module = "github.com/weirhq/weir"

// Package is a package of this module and its imports, by import path. TestImports are the imports
// of its test files.
type Package struct {
	Path        string
	Imports     []string
	TestImports []string
}

// pure restricts the imports of packages, directly and through other packages of this module, to
// the listed folders and to libraries that only compute (see harmless). All folders are relative to
// the module and include those below them.
type pure struct {
	roots []string // folders of the packages to which the rule applies
	but   []string // folders among them to which it does not apply
	own   []string // folders that they may import beside their own
	any   bool     // they may import any library
	also  []string // libraries that they may import, each with those below it
	why   string   // reason in a complaint
	use   string   // remedy in a complaint
}

// reserved restricts a dependency to some packages, and to their tests.
type reserved struct {
	deps  []string // import paths, each with those below it
	users []string // folders that may import them, each with those below it
	tests bool     // all tests may import them
	why   string   // reason in a complaint
	use   string   // remedy in a complaint
}

// coreFolders returns the folders of the cores: folds without Kafka, disk, network, clock and
// random numbers.
func coreFolders() []string {
	return []string{"spendcounter", "dedup", "balancer", "liberator", "pacing", "jobqueue"}
}

// bitVectorCore is the core that may use compressed bit vectors.
const bitVectorCore = "jobqueue"

const (
	coreReason = "a core computes from its inputs alone, so that tests and replays get equal results"
	coreRemedy = "take the data in the batch or the commit, and return it in stream.Changes"
)

func pureRules() []pure {
	return []pure{
		{
			roots: []string{"events"}, but: []string{"events/ingest", "events/loadgen"}, own: []string{"internal", "stream"},
			why: "package events defines terms that every application needs, so it depends on protobuf and xxhash only",
			use: "move the code that needs the import to the package that has it",
		},
		{
			roots: []string{"stream"}, but: []string{"stream/streamtest"}, own: []string{"stream"},
			why: "every processor imports package stream, so it depends on no other folder",
			use: "pass the data through the types of stream",
		},
		{
			roots: append(coreFolders(), "spendcache/selection"), but: []string{"pacing/market", bitVectorCore}, // a simulator, by seed
			own: []string{"events", "internal", "stream", "lease", "spendcache/selection"},
			why: coreReason,
			use: coreRemedy,
		},
		{
			roots: []string{bitVectorCore}, but: []string{"jobqueue/jobpb", "jobqueue/worker"}, // the API and its client
			own:  []string{"events", "internal", "stream"},
			also: []string{"github.com/RoaringBitmap/roaring/v2"},
			why:  coreReason,
			use:  coreRemedy,
		},
		{
			roots: []string{"internal"}, own: []string{"events", "stream", "lease", "internal"}, any: true,
			why: "internal holds packages that depend on no folder above events, stream and lease",
			use: "move the package to the folder that needs it",
		},
	}
}

func reservedRules() []reserved {
	return []reserved{
		{
			deps:  []string{"github.com/twmb/franz-go", "github.com/cockroachdb/pebble"},
			users: []string{"processors", "bench", "compose", "test", "examples"},
			why:   "package processors hides Kafka and Pebble from the rest",
			use:   "call a function of processors, or add one there",
		},
		{
			deps:  []string{"github.com/aws"},
			users: []string{"agent", "bridge", "executor", "dynamotest", "lease/table", "lease/admin", "test", "examples"},
			why:   "few packages make requests to DynamoDB",
			use:   "call agent or lease/table, or add a function there",
		},
		{
			deps: []string{"github.com/spf13/cobra", "github.com/spf13/pflag"}, users: []string{"cmd"},
			why: "flags are read in cmd",
			use: "take the value in a Config struct",
		},
		{
			deps: []string{Module + "/cmd"}, users: []string{"cmd"},
			why: "cmd only joins packages",
			use: "call the package that the command calls",
		},
		{
			deps: []string{Module + "/test"}, users: []string{"test"},
			why: "the folder test has tests of the whole system, and no package depends on it",
			use: "move the test helper next to the package that it helps",
		},
		{
			deps: []string{Module + "/internal/config"}, users: []string{"cmd", "internal/config"}, tests: true,
			why: "settings belong to the program, not to its libraries",
			use: "take plain values in the package's own Config, which cmd fills in",
		},
		{
			deps: []string{Module + "/events"}, tests: true,
			users: slices.Concat(
				[]string{
					"events", "lease", "internal", "agent", "bridge", "executor", "mirror", "push", "api", "spendcache", "bench", "cmd",
					"test", "compose",
				}, coreFolders()),
			why: "events has the terms of weir's applications, and programs of other applications need none of them",
			use: "use package stream, such as stream.Topic",
		},
		{
			deps: cores(), users: slices.Concat([]string{"cmd", "api", "bench", "test", "spendcache"}, coreFolders()), tests: true,
			why: "the runtime and the libraries work with any processor",
			use: "take a stream.Processor, which cmd passes",
		},
	}
}

// cores returns the import paths of the cores.
func cores() []string {
	var paths []string
	for _, r := range coreFolders() {
		paths = append(paths, Module+"/"+r)
	}
	return paths
}

// CheckImports returns a complaint for each import of graph that the rules and the layers forbid,
// and for folders that import each other.
func CheckImports(graph []Package) []string {
	byPath := map[string]Package{}
	for _, p := range graph {
		byPath[p.Path] = p
	}
	var bad []string
	for _, p := range graph {
		for _, r := range pureRules() {
			if within(p.Path, r.roots) && !within(p.Path, r.but) {
				bad = append(bad, r.check(p, byPath)...)
			}
		}
		for _, r := range reservedRules() {
			bad = append(bad, r.check(p)...)
		}
		bad = append(bad, checkLayers(p)...)
	}
	bad = append(bad, checkCircles(graph)...)
	slices.Sort(bad)
	return slices.Compact(bad)
}

// checkCircles returns a complaint for each two top folders that import each other, directly or
// through others.
func checkCircles(graph []Package) []string {
	arrows := map[string]map[string]string{} // from a folder to another: an example of the import
	for _, p := range graph {
		from := top(p.Path)
		for _, imp := range p.Imports {
			if to := top(imp); strings.HasPrefix(imp, Module+"/") && to != from {
				if arrows[from] == nil {
					arrows[from] = map[string]string{}
				}
				arrows[from][to] = short(p.Path) + " imports " + short(imp)
			}
		}
	}
	reaches := func(from, to string) bool {
		seen := map[string]bool{}
		var walk func(at string) bool
		walk = func(at string) bool {
			if at == to {
				return true
			}
			if seen[at] {
				return false
			}
			seen[at] = true
			for next := range arrows[at] {
				if walk(next) {
					return true
				}
			}
			return false
		}
		return walk(from)
	}
	var bad []string
	for from, to := range arrows {
		for folder, example := range to {
			if reaches(folder, from) {
				bad = append(bad,
					fmt.Sprintf(
						"the folders %s and %s import each other (%s), so neither can be changed or tested alone: remove the imports in one direction", from, folder, example))
			}
		}
	}
	return bad
}

// top returns the first folder in the path of a package of this module.
func top(path string) string {
	s, _, _ := strings.Cut(short(path), "/")
	return s
}

// check follows the imports of p through the packages of this module. It returns a complaint for
// each import that the rule does not permit.
func (r pure) check(p Package, byPath map[string]Package) []string {
	type step struct{ path, via string }
	var bad []string
	todo := []step{{p.Path, ""}}
	seen := map[string]bool{p.Path: true}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		for _, imp := range byPath[at.path].Imports {
			ours := imp == Module || strings.HasPrefix(imp, Module+"/")
			via := at.via
			if at.path != p.Path && via == "" {
				via = " through " + short(at.path)
			}
			switch {
			case ours && !within(imp, r.own) && !sameRoot(imp, p.Path):
				bad = append(bad, fmt.Sprintf("%s imports %s%s: %s: %s", short(p.Path), short(imp), via, r.why, r.use))
			case ours && !seen[imp]:
				seen[imp] = true
				todo = append(todo, step{imp, via})
			case at.path == Module+"/stream" && imp == "log/slog": // for the type of Task.Log, which the runtime gives
			case !ours && !r.permits(imp):
				bad = append(bad, fmt.Sprintf("%s imports %s%s: %s: %s", short(p.Path), imp, via, r.why, r.use))
			}
		}
	}
	return bad
}

func (r reserved) check(p Package) []string {
	if within(p.Path, r.users) {
		return nil
	}
	imports := p.Imports
	if !r.tests {
		imports = slices.Concat(p.Imports, p.TestImports)
	}
	var bad []string
	for _, imp := range imports {
		if slices.ContainsFunc(r.deps, func(d string) bool { return below(imp, d) }) {
			bad = append(bad, fmt.Sprintf("%s imports %s: %s: %s", short(p.Path), short(imp), r.why, r.use))
		}
	}
	return bad
}

// permits reports whether the rule permits the library dep.
func (r pure) permits(dep string) bool {
	return r.any || harmless(dep) || slices.ContainsFunc(r.also, func(l string) bool { return below(dep, l) })
}

// harmless reports whether a pure package may import dep: a package of the standard library without
// input, output and random numbers, or one of the two libraries that only compute.
func harmless(dep string) bool {
	for _, io := range []string{
		"net", "os", "os/exec", "os/signal", "log", "log/slog", "syscall", "math/rand", "math/rand/v2", "crypto/rand", "database/sql",
	} {
		if dep == io || io == "net" && below(dep, io) {
			return false
		}
	}
	first, _, _ := strings.Cut(dep, "/")
	return !strings.Contains(first, ".") || below(dep, "google.golang.org/protobuf") || below(dep, "github.com/cespare/xxhash")
}

// within reports whether path is in one of the folders roots of this module.
func within(path string, roots []string) bool {
	return slices.ContainsFunc(roots, func(r string) bool { return below(path, Module+"/"+r) })
}

// sameRoot reports whether two packages of this module have the same top folder.
func sameRoot(a, b string) bool {
	return top(a) == top(b)
}

func below(path, root string) bool { return path == root || strings.HasPrefix(path, root+"/") }

// short returns a path without the path of this module.
func short(path string) string { return strings.TrimPrefix(path, Module+"/") }

package lint

import (
	"fmt"
	"slices"
	"strings"
)

// Module is the path that our own packages begin with.
const Module = "github.com/weirhq/weir"

// Package is one of our packages and what it imports, by import path. Test imports are those of its test files.
type Package struct {
	Path        string
	Imports     []string
	TestImports []string
}

// pure says which packages must be computable by hand: what they import, and what those import, ends in the standard
// library, protobuf and xxhash.
type pure struct {
	roots []string // packages, below the module, with all below them
	but   []string // of those, packages to which it does not apply
	own   []string // which of our packages they may import beside themselves
	any   bool     // libraries may be any
	use   string   // instead
}

// reserved says who may import a dependency at all, in tests too.
type reserved struct {
	deps  []string // import paths, with all below them
	users []string // our packages, with all below them
	tests bool     // tests of others may, too
	use   string   // instead
}

// floor is how high the folders of a list stand. A package imports packages of its own floor or of a lower one.
type floor struct {
	level   int
	folders []string // below the module, each with all below it; the longest that fits a package counts
}

// floors is the order of the folders, from the nouns at the bottom to the commands at the top.
func floors() []floor {
	return []floor{
		{0, []string{"events", "stream", "lease", "internal", "dynamotest"}},
		{1, coreFolders()},
		{2, []string{"processors", "lease/table", "agent", "bridge", "executor", "mirror"}},
		{3, []string{"api", "spendcache"}},
		{4, []string{"bench", "cmd/weir/internal/node"}},
		{5, []string{"cmd", "test", "compose", "examples"}},
	}
}

// coreFolders are the cores: folds without Kafka, disk, network, clock or chance.
func coreFolders() []string {
	return []string{"spendcounter", "dedup", "balancer", "liberator", "pacing", "jobqueue"}
}

func pureRules() []pure {
	return []pure{
		{
			roots: []string{"events"}, own: []string{"internal"},
			use: "move what needs it to the package that has it; events holds nouns only",
		},
		{
			roots: []string{"stream"}, but: []string{"stream/streamtest"}, own: []string{"stream"},
			use: "data that the runtime gives a handler; stream is what every processor imports",
		},
		{
			roots: coreFolders(), own: []string{"events", "internal", "stream", "lease"},
			use: "take it as data in the batch or the commit, and give it as data in stream.Changes",
		},
		{
			roots: []string{"internal"}, own: []string{"events", "stream", "lease", "internal"}, any: true,
			use: "a folder of the floor that it needs; internal holds leaves only",
		},
	}
}

func reservedRules() []reserved {
	return []reserved{
		{
			deps: []string{"github.com/twmb/franz-go", "github.com/cockroachdb/pebble"}, users: []string{"processors", "bench", "test"},
			use: "a function of processors, which alone knows Kafka and Pebble",
		},
		{
			deps: []string{"github.com/aws"}, users: []string{"agent", "bridge", "executor", "dynamotest", "lease/table", "test"},
			use: "agent, which alone asks DynamoDB",
		},
		{
			deps: []string{"github.com/spf13/cobra", "github.com/spf13/pflag"}, users: []string{"cmd"},
			use: "a Config struct; flags are read in cmd",
		},
		{
			deps: []string{Module + "/cmd"}, users: []string{"cmd"},
			use: "the package that the command calls; cmd only joins packages",
		},
		{
			deps: []string{Module + "/test"}, users: []string{"test"},
			use: "a test helper beside the package that it helps; nothing is built on the tests of the whole",
		},
		{
			deps: []string{Module + "/internal/config"}, users: []string{"cmd", "internal/config"}, tests: true,
			use: "plain values in the package's own Config; cmd fills them in",
		},
		{
			deps: cores(), users: slices.Concat([]string{"cmd", "api", "bench", "test", "spendcache"}, coreFolders()), tests: true,
			use: "stream; the runtime knows no core, cmd gives it one",
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

// CheckImports returns a complaint for each import of graph that runs the wrong way.
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
		bad = append(bad, checkFloors(p)...)
	}
	bad = append(bad, checkCircles(graph)...)
	slices.Sort(bad)
	return slices.Compact(bad)
}

// checkFloors complains about imports of p that run up. Tests may look up: they try a package with what is built on it.
func checkFloors(p Package) []string {
	at, ok := floorOf(p.Path)
	if !ok {
		return []string{fmt.Sprintf("%s stands on no floor: use one of internal/lint's floors, or give its folder one", short(p.Path))}
	}
	var bad []string
	for _, imp := range p.Imports {
		if to, ours := floorOf(imp); ours && to > at {
			bad = append(bad, fmt.Sprintf("%s (floor %d) imports %s (floor %d): use what is on its own floor or below", short(p.Path), at, short(imp), to))
		}
	}
	return bad
}

// checkCircles complains about top folders that import each other, directly or through others.
func checkCircles(graph []Package) []string {
	arrows := map[string]map[string]string{} // from a folder to another: an import that makes the arrow
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
				bad = append(bad, fmt.Sprintf("the folders %s and %s import each other (%s): use one direction", from, folder, example))
			}
		}
	}
	return bad
}

// top is the first folder of one of our packages.
func top(path string) string {
	s, _, _ := strings.Cut(short(path), "/")
	return s
}

// floorOf is the level of one of our packages.
func floorOf(path string) (level int, ok bool) {
	longest := 0
	for _, f := range floors() {
		for _, folder := range f.folders {
			if below(path, Module+"/"+folder) && len(folder) > longest {
				longest, level, ok = len(folder), f.level, true
			}
		}
	}
	return level, ok
}

// check follows the imports of p through our packages, and complains about the first step outside.
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
				via = " by way of " + short(at.path)
			}
			switch {
			case ours && !within(imp, r.own) && !sameRoot(imp, p.Path):
				bad = append(bad, fmt.Sprintf("%s imports %s%s: use %s", short(p.Path), short(imp), via, r.use))
			case ours && !seen[imp]:
				seen[imp] = true
				todo = append(todo, step{imp, via})
			case !ours && !r.any && !harmless(imp):
				bad = append(bad, fmt.Sprintf("%s imports %s%s: use %s", short(p.Path), imp, via, r.use))
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
			bad = append(bad, fmt.Sprintf("%s imports %s: use %s", short(p.Path), short(imp), r.use))
		}
	}
	return bad
}

// harmless tells whether a pure package may import dep: the standard library without input, output and chance, and the
// two libraries that compute only.
func harmless(dep string) bool {
	for _, io := range []string{"net", "os", "os/exec", "os/signal", "log", "log/slog", "syscall", "math/rand", "math/rand/v2", "crypto/rand", "database/sql"} {
		if dep == io || io == "net" && below(dep, io) {
			return false
		}
	}
	first, _, _ := strings.Cut(dep, "/")
	return !strings.Contains(first, ".") || below(dep, "google.golang.org/protobuf") || below(dep, "github.com/cespare/xxhash")
}

// within tells whether path is one of our packages roots, or below one.
func within(path string, roots []string) bool {
	return slices.ContainsFunc(roots, func(r string) bool { return below(path, Module+"/"+r) })
}

// sameRoot tells whether two of our packages have the same top directory.
func sameRoot(a, b string) bool {
	return top(a) == top(b)
}

func below(path, root string) bool { return path == root || strings.HasPrefix(path, root+"/") }

// short drops the module's path.
func short(path string) string { return strings.TrimPrefix(path, Module+"/") }

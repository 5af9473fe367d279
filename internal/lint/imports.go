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
	own   []string // which of our packages they may import beside themselves
	use   string   // instead
}

// reserved says who may import a dependency at all, in tests too.
type reserved struct {
	deps  []string // import paths, with all below them
	users []string // our packages, with all below them
	tests bool     // tests of others may, too
	use   string   // instead
}

func pureRules() []pure {
	return []pure{
		{
			roots: []string{"events"}, own: []string{"internal"},
			use: "move what needs it to the package that has it; events holds nouns only",
		},
		{
			roots: []string{"spendcounter", "dedup", "balancer", "liberator", "pacing", "jobqueue"}, own: []string{"events", "internal"},
			use: "take it as data in the batch or the commit, and give it as data in stream.Changes",
		},
	}
}

func reservedRules() []reserved {
	return []reserved{
		{
			deps: []string{"github.com/twmb/franz-go", "github.com/cockroachdb/pebble"}, users: []string{"processors", "internal/integration", "test"},
			use: "a function of processors, which alone knows Kafka and Pebble",
		},
		{
			deps: []string{"github.com/aws"}, users: []string{"agent", "bridge", "executor", "dynamotest", "internal/leasetable", "test"},
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
			deps: []string{Module + "/internal/config"}, users: []string{"cmd", "internal/config"}, tests: true,
			use: "plain values in the package's own Config; cmd fills them in",
		},
		{
			deps: cores(), users: []string{"cmd", "api", "internal", "test", "spendcache", "spendcounter", "dedup", "balancer", "liberator", "pacing", "jobqueue"}, tests: true,
			use: "internal/stream; the runtime knows no core, cmd gives it one",
		},
	}
}

// cores returns the import paths of the cores.
func cores() []string {
	var paths []string
	for _, r := range pureRules()[1].roots {
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
			if within(p.Path, r.roots) {
				bad = append(bad, r.check(p, byPath)...)
			}
		}
		for _, r := range reservedRules() {
			bad = append(bad, r.check(p)...)
		}
	}
	slices.Sort(bad)
	return slices.Compact(bad)
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
			case !ours && !harmless(imp):
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
	top := func(p string) string { s, _, _ := strings.Cut(short(p), "/"); return s }
	return top(a) == top(b)
}

func below(path, root string) bool { return path == root || strings.HasPrefix(path, root+"/") }

// short drops the module's path.
func short(path string) string { return strings.TrimPrefix(path, Module+"/") }

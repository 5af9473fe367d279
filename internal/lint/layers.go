package lint

import "fmt"

// layer is a level and its folders. A package may import packages of its own layer and of lower
// layers.
type layer struct {
	level   int
	folders []string // relative to the module, each with those below it; the longest match counts
}

// layers returns the order of the folders, from the basic terms at the bottom to the commands at
// the top.
func layers() []layer {
	return []layer{
		{0, []string{"events", "stream", "lease", "internal", "dynamotest"}},
		{1, append(coreFolders(), "spendcache/selection")},
		{2, []string{"processors", "lease/table", "lease/admin", "lease/status", "agent", "bridge", "executor", "mirror", "push"}},
		{3, []string{"api", "spendcache"}},
		{4, []string{"bench", "cmd/weir/internal/node", "program"}},
		{5, []string{"cmd", "test", "compose", "examples"}},
	}
}

// runtimeFolder holds the runtime. Its packages have layers of their own.
const runtimeFolder = "processors"

// runtimeLayers returns the order of the packages in runtimeFolder. The sinks, the log reader
// and the dev broker are below the runtime, because they do not need it.
func runtimeLayers() []layer {
	return []layer{
		{0, []string{
			"processors/changelogpb", "processors/kafka", "processors/internal/failpoint", "processors/internal/simkafka",
			"processors/internal/ledger", "processors/internal/replayrange", "processors/internal/topics",
		}},
		{1, []string{"processors/sink", "processors/devbroker", "processors/logreader"}},
		{2, []string{"processors/internal/store", "processors/internal/group"}},
		{3, []string{"processors/internal/changelog", "processors/internal/txn", "processors/follower"}},
		{4, []string{"processors/internal/handler"}},
		{5, []string{runtimeFolder}},
		{6, []string{"processors/offline", "processors/kafkaadmin", "processors/processorstest"}},
	}
}

// checkLayers returns a complaint for each import of a higher layer in p. Tests may import higher
// layers: they run a package together with packages that are built on it.
func checkLayers(p Package) []string {
	at, ok := placeOf(p.Path, layers())
	if !ok {
		return []string{fmt.Sprintf("%s is in no layer, so its imports cannot be checked: add its folder to layers in internal/lint/layers.go", short(p.Path))}
	}
	bad := at.importsAbove(p, layers())
	if !within(p.Path, []string{runtimeFolder}) {
		return bad
	}
	at, _ = placeOf(p.Path, runtimeLayers())
	if at.folder == runtimeFolder && short(p.Path) != runtimeFolder {
		return append(bad, fmt.Sprintf("%s is in no layer of the runtime, so its imports cannot be checked: add its folder to runtimeLayers in internal/lint/layers.go", short(p.Path)))
	}
	return append(bad, at.importsAbove(p, runtimeLayers())...)
}

// place is the layer of a package, with the folder that determines it.
type place struct {
	level  int
	folder string
}

// placeOf returns the place of a package of this module in list.
func placeOf(path string, list []layer) (at place, ok bool) {
	for _, f := range list {
		for _, folder := range f.folders {
			if below(path, Module+"/"+folder) && len(folder) > len(at.folder) {
				at, ok = place{f.level, folder}, true
			}
		}
	}
	return at, ok
}

// importsAbove returns a complaint for each import of p, whose place is at, from a higher layer of
// list.
func (at place) importsAbove(p Package, list []layer) []string {
	var bad []string
	for _, imp := range p.Imports {
		if to, ok := placeOf(imp, list); ok && to.level > at.level {
			bad = append(bad, fmt.Sprintf("%s (layer %d) imports %s (layer %d): imports run downwards, so that no two packages need each other: move the code down, or pass it in as a value or an interface", short(p.Path), at.level, short(imp), to.level))
		}
	}
	return bad
}

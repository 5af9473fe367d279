package lint

import (
	"strings"
	"testing"
)

// pkg returns a package of this module with imports. An import that begins with "./" is also of
// this module.
func pkg(path string, imports ...string) Package {
	p := Package{Path: Module + "/" + path}
	for _, imp := range imports {
		if rest, ok := strings.CutPrefix(imp, "./"); ok {
			imp = Module + "/" + rest
		}
		p.Imports = append(p.Imports, imp)
	}
	return p
}

// tested returns the package with its imports moved to its tests.
func tested(p Package) Package {
	return Package{Path: p.Path, TestImports: p.Imports}
}

func TestCheckImports(t *testing.T) {
	const kgo, pebble, aws = "github.com/twmb/franz-go/pkg/kgo", "github.com/cockroachdb/pebble/v2", "github.com/aws/aws-sdk-go-v2"
	for _, tc := range []struct {
		name  string
		graph []Package
		want  string // in the only complaint; "" = none
	}{
		{"permitted", []Package{
			pkg("events", "strings", "./events/eventspb", "./internal/ring", "github.com/cespare/xxhash/v2"),
			pkg("events/eventspb", "google.golang.org/protobuf/proto"),
			pkg("events/ingest", "os", "github.com/klauspost/compress/zstd", "./events"),
			pkg("stream", "sort", "log/slog"),
			pkg("internal/ring", "sort"),
			pkg("internal/obs", "github.com/prometheus/client_golang/prometheus"),
			pkg("spendcounter", "./events", "./stream", "./spendcounter/spendpb", "time"),
			pkg("jobqueue", "github.com/RoaringBitmap/roaring/v2", "github.com/RoaringBitmap/roaring/v2/roaring64", "./internal/dense"),
			pkg("spendcounter/spendpb", "google.golang.org/protobuf/proto"),
			pkg("processors", kgo, pebble, "./stream", "./internal/obs", "./processors/internal/txn", "./processors/internal/handler"),
			pkg("processors/offline", "./processors", "./processors/internal/store"),
			pkg("processors/internal/txn", "./processors/internal/group", "./processors/kafka"),
			pkg("processors/internal/handler", "./processors/internal/changelog"),
			pkg("processors/internal/changelog", "./processors/internal/store", "./processors/changelogpb"),
			pkg("processors/internal/store/storetest", pebble+"/vfs"),
			pkg("processors/sink", kgo, "./processors/kafka"),
			tested(pkg("processors/processorstest", kgo, "./spendcounter")),
			pkg("agent", aws),
			tested(pkg("test/kafka", kgo, aws, "./spendcounter")),
			pkg("api", "./spendcounter", "./events"),
			pkg("cmd/weir", "./processors", "./spendcounter", "./internal/config", "github.com/spf13/cobra"),
		}, ""},
		{"events need a library", []Package{pkg("events", "github.com/rs/zerolog")}, "events imports github.com/rs/zerolog: package events "},
		{
			"events need the files of an import",
			[]Package{pkg("events", "./events/ingest"), pkg("events/ingest", "os")},
			"events imports os through events/ingest: package events ",
		},
		{"events need a core", []Package{pkg("events", "./spendcounter"), pkg("spendcounter")}, "events imports spendcounter: package events "},
		{"a core needs Kafka", []Package{pkg("liberator", kgo)}, "liberator imports " + kgo},
		{"a core reads files", []Package{pkg("pacing", "os")}, "pacing imports os: a core "},
		{"a core logs", []Package{pkg("pacing", "log/slog")}, "pacing imports log/slog: a core "},
		{"a core uses the network", []Package{pkg("pacing", "net/http")}, "pacing imports net/http: a core "},
		{"a core draws random numbers", []Package{pkg("balancer", "math/rand/v2")}, "balancer imports math/rand/v2: a core "},
		{"a core needs another", []Package{pkg("balancer", "./dedup")}, "balancer imports dedup: a core "},
		{"the bit vectors in another core", []Package{pkg("pacing", "github.com/RoaringBitmap/roaring/v2")}, "pacing imports github.com/RoaringBitmap/roaring/v2: a core "},
		{"another library in the core with bit vectors", []Package{pkg("jobqueue", "example.com/x")}, "jobqueue imports example.com/x: a core "},
		{"a core needs the runtime", []Package{pkg("jobqueue", "./processors")}, "jobqueue imports processors: a core "},
		{
			"a core needs a library through another package",
			[]Package{pkg("dedup/plan", "./internal/a"), pkg("internal/a", "./internal/b"), pkg("internal/b", "example.com/x")},
			"dedup/plan imports example.com/x through internal/a: a core ",
		},
		{
			"a core needs the runtime through another package",
			[]Package{pkg("dedup", "./internal/a"), pkg("internal/a", "./processors"), pkg("processors", kgo)},
			"dedup imports processors through internal/a: a core ",
		},
		{"a name with the prefix of a core", []Package{pkg("pacingdemo", "os")}, "pacingdemo is in no layer"},
		{"an import of a higher layer", []Package{pkg("agent", "./api")}, "agent (layer 2) imports api (layer 3)"},
		{"an import of a higher layer in one folder", []Package{pkg("lease/command", "./lease/table")}, "lease/command (layer 0) imports lease/table (layer 2)"},
		{"the connection needs the store", []Package{pkg("processors/kafka", "./processors/internal/store")}, "processors/kafka (layer 0) imports processors/internal/store (layer 2)"},
		{"a sink needs the store", []Package{pkg("processors/sink", "./processors/internal/store")}, "processors/sink (layer 1) imports processors/internal/store (layer 2)"},
		{"the dev broker needs the runtime", []Package{pkg("processors/devbroker", "./processors")}, "processors/devbroker (layer 1) imports processors (layer 5)"},
		{"the store needs the changelog", []Package{pkg("processors/internal/store", "./processors/internal/changelog")}, "processors/internal/store (layer 2) imports processors/internal/changelog (layer 3)"},
		{"the assignor needs transactions", []Package{pkg("processors/internal/group", "./processors/internal/txn")}, "processors/internal/group (layer 2) imports processors/internal/txn (layer 3)"},
		{"the changelog needs handlers", []Package{pkg("processors/internal/changelog", "./processors/internal/handler")}, "processors/internal/changelog (layer 3) imports processors/internal/handler (layer 4)"},
		{"handlers need the runtime", []Package{pkg("processors/internal/handler", "./processors")}, "processors/internal/handler (layer 4) imports processors (layer 5)"},
		{"the runtime needs offline work", []Package{pkg("processors", "./processors/offline")}, "processors (layer 5) imports processors/offline (layer 6)"},
		{"a package of the runtime without a layer", []Package{pkg("processors/internal/cache")}, "processors/internal/cache is in no layer of the runtime"},
		{"a test of the store needs the runtime", []Package{tested(pkg("processors/internal/store", "./processors"))}, ""},
		{"two folders that need each other", []Package{pkg("agent/a", "./bridge"), pkg("bridge", "./agent/b")}, "the folders agent and bridge import each other"},
		{"an internal package that needs another folder", []Package{pkg("internal/a", "./agent")}, "internal/a imports agent: internal holds packages that depend on no folder"},
		{"an internal package that needs a library", []Package{pkg("internal/a", "github.com/rs/zerolog")}, ""},
		{"stream needs events", []Package{pkg("stream", "./events")}, "stream imports events: every processor "},
		{"the runtime needs events", []Package{pkg("processors/sink", "./events")}, "processors/sink imports events: events has the terms of weir's applications"},
		{"the runtime needs the schemas of events", []Package{pkg("processors/internal/store", "./events/eventspb")}, "processors/internal/store imports events/eventspb: events has"},
		{"a test of the runtime needs events", []Package{tested(pkg("processors", "./events"))}, ""},
		{"a helper in the folder test", []Package{tested(pkg("api", "./test/sim"))}, "api imports test/sim: the folder test "},
		{"Kafka in another package", []Package{pkg("api", kgo)}, "api imports " + kgo + ": package processors hides Kafka"},
		{"Kafka in a test of another package", []Package{tested(pkg("cmd/weir", kgo))}, "cmd/weir imports " + kgo},
		{"Pebble in another package", []Package{pkg("internal/store", pebble)}, "internal/store imports " + pebble},
		{"Pebble in a core's test", []Package{tested(pkg("spendcounter", pebble+"/vfs"))}, "spendcounter imports " + pebble + "/vfs"},
		{"AWS in another package", []Package{pkg("processors", aws+"/service/dynamodb")}, "few packages make requests to DynamoDB: call agent"},
		{"a library needs a command", []Package{pkg("api", "./cmd/weir")}, "api imports cmd/weir: cmd only "},
		{"a test needs a command", []Package{tested(pkg("test/e2e", "./cmd/weir"))}, "test/e2e imports cmd/weir: cmd only "},
		{"flags in a library", []Package{pkg("events/ingest", "github.com/spf13/pflag")}, "flags are read in cmd"},
		{"configuration in a library", []Package{pkg("processors", "./internal/config")}, "take plain values"},
		{"the runtime needs a core", []Package{pkg("processors/x", "./spendcounter")}, "processors/x imports spendcounter: the runtime and the libraries work with any processor: take a stream.Processor"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := CheckImports(tc.graph)
			if tc.want == "" {
				complain(t, got)
				return
			}
			for _, c := range got {
				if strings.Contains(c, tc.want) {
					return
				}
			}
			t.Errorf("complaints %q, want one with %q", got, tc.want)
		})
	}
}

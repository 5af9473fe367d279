package lint

import (
	"strings"
	"testing"
)

// pkg is a package of ours that imports; an import that begins with "./" is ours, too.
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

// tested moves the imports to the tests.
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
		{"as it should be", []Package{
			pkg("events", "strings", "./events/eventspb", "./internal/ring", "github.com/cespare/xxhash/v2"),
			pkg("events/eventspb", "google.golang.org/protobuf/proto"),
			pkg("stream", "sort"),
			pkg("internal/ring", "sort"),
			pkg("internal/obs", "github.com/prometheus/client_golang/prometheus"),
			pkg("spendcounter", "./events", "./stream", "./spendcounter/spendpb", "time"),
			pkg("spendcounter/spendpb", "google.golang.org/protobuf/proto"),
			pkg("processors", kgo, pebble, "./stream", "./internal/obs"),
			tested(pkg("processors/processorstest", kgo, "./spendcounter")),
			pkg("agent", aws),
			tested(pkg("test/kafka", kgo, aws, "./spendcounter")),
			pkg("api", "./spendcounter", "./events"),
			pkg("cmd/weir", "./processors", "./spendcounter", "./internal/config", "github.com/spf13/cobra"),
		}, ""},
		{"events need a library", []Package{pkg("events", "github.com/rs/zerolog")}, "events imports github.com/rs/zerolog: use "},
		{"events need a core", []Package{pkg("events", "./spendcounter"), pkg("spendcounter")}, "events imports spendcounter: use "},
		{"a core needs Kafka", []Package{pkg("liberator", kgo)}, "liberator imports " + kgo},
		{"a core reads files", []Package{pkg("pacing", "os")}, "pacing imports os: use "},
		{"a core asks the network", []Package{pkg("pacing", "net/http")}, "pacing imports net/http: use "},
		{"a core throws dice", []Package{pkg("balancer", "math/rand/v2")}, "balancer imports math/rand/v2: use "},
		{"a core needs another", []Package{pkg("balancer", "./dedup")}, "balancer imports dedup: use "},
		{"a core needs the runtime", []Package{pkg("jobqueue", "./processors")}, "jobqueue imports processors: use "},
		{
			"a core needs a library by a detour",
			[]Package{pkg("dedup/plan", "./internal/a"), pkg("internal/a", "./internal/b"), pkg("internal/b", "example.com/x")},
			"dedup/plan imports example.com/x by way of internal/a: use ",
		},
		{
			"a core needs the runtime by a detour",
			[]Package{pkg("dedup", "./internal/a"), pkg("internal/a", "./processors"), pkg("processors", kgo)},
			"dedup imports processors by way of internal/a: use ",
		},
		{"a name that only begins like a core", []Package{pkg("pacingdemo", "os")}, "pacingdemo stands on no floor"},
		{"an arrow that runs up", []Package{pkg("agent", "./api")}, "agent (floor 2) imports api (floor 3)"},
		{"an arrow that runs up inside a folder", []Package{pkg("lease/command", "./lease/table")}, "lease/command (floor 0) imports lease/table (floor 2)"},
		{"two folders that need each other", []Package{pkg("agent/a", "./bridge"), pkg("bridge", "./agent/b")}, "the folders agent and bridge import each other"},
		{"a leaf that is none", []Package{pkg("internal/a", "./agent")}, "internal/a imports agent: use a folder"},
		{"a leaf that needs a library", []Package{pkg("internal/a", "github.com/rs/zerolog")}, ""},
		{"the model of handlers needs a noun", []Package{pkg("stream", "./events")}, "stream imports events: use "},
		{"a test of the whole as a helper", []Package{tested(pkg("api", "./test/sim"))}, "api imports test/sim: use "},
		{"Kafka elsewhere", []Package{pkg("api", kgo)}, "api imports " + kgo + ": use a function of processors"},
		{"Kafka in a test elsewhere", []Package{tested(pkg("cmd/weir", kgo))}, "cmd/weir imports " + kgo},
		{"Pebble elsewhere", []Package{pkg("internal/store", pebble)}, "internal/store imports " + pebble},
		{"Pebble in a core's test", []Package{tested(pkg("spendcounter", pebble+"/vfs"))}, "spendcounter imports " + pebble + "/vfs"},
		{"AWS elsewhere", []Package{pkg("processors", aws+"/service/dynamodb")}, "use agent"},
		{"somebody needs a command", []Package{pkg("api", "./cmd/weir")}, "api imports cmd/weir: use "},
		{"a test needs a command", []Package{tested(pkg("test/e2e", "./cmd/weir"))}, "test/e2e imports cmd/weir: use "},
		{"flags in a library", []Package{pkg("internal/ingest", "github.com/spf13/pflag")}, "flags are read in cmd"},
		{"configuration in a library", []Package{pkg("processors", "./internal/config")}, "use plain values"},
		{"the runtime needs a core", []Package{pkg("processors/x", "./spendcounter")}, "processors/x imports spendcounter: use stream"},
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

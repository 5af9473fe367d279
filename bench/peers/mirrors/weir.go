package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/weirhq/weir/bench/broker"
	"github.com/weirhq/weir/events"
)

// Names of the datacentres of source and target.
const sourceDC, targetDC = "us", "eu"

// buildWeir compiles weir.
func (b *bench) buildWeir(ctx context.Context) error {
	return b.Make(ctx, b.root, "go", "build", "-o", b.binary(), "./cmd/weir")
}

func (b *bench) binary() string { return filepath.Join(b.scratch, "weir") }

// prepareWeir creates the topics of the mirror, with weir's own command.
func (b *bench) prepareWeir(ctx context.Context, l logName, dir string) (*setup, error) {
	remove := func(ctx context.Context) error {
		return b.target.remove(ctx, l.has)
	}
	if err := remove(ctx); err != nil {
		return nil, err
	}
	// The mirror copies this topic, too. Here it is empty.
	adjustments := l.layout().Name(events.AdjustmentsTopic)
	if err := broker.Create(ctx, b.source.Cluster, adjustments, partitions, nil); err != nil {
		return nil, err
	}
	env := b.weirEnv(l, dir)
	apply := b.Command(ctx, b.binary(), "topics", "apply", "--for", "spend")
	apply.Env = env
	if err := apply.Run(); err != nil {
		return nil, fmt.Errorf("weir topics apply failed, its output is above: %w", err)
	}
	return &setup{
		copies: l.layout().Name(events.CopiedEventsTopic(sourceDC)),
		program: program{
			name: b.binary(), args: []string{"run", "--roles", "mirror"}, env: env, log: filepath.Join(dir, "log"),
		},
		remove: remove,
	}, nil
}

// has reports whether a topic or an application belongs to the generation.
func (l logName) has(name string) bool { return strings.HasSuffix(name, l.layout().Name("")) }

// weirEnv returns an environment in which weir has its defaults, except for what names a place, and
// the settings of the command line.
func (b *bench) weirEnv(l logName, dir string) (env []string) {
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "WEIR_") {
			env = append(env, kv)
		}
	}
	env = append(env,
		"WEIR_DC="+targetDC, "WEIR_DCS="+targetDC+","+sourceDC+"="+b.source.addr, "WEIR_KAFKA_BROKERS="+b.target.addr,
		fmt.Sprintf("WEIR_SPEND_GENERATION=%d", l), fmt.Sprintf("WEIR_SPEND_PARTITIONS=%d", partitions),
		"WEIR_TOPICS_REPLICATION_FACTOR=1", "WEIR_TOPICS_MIN_INSYNC=1", "WEIR_MEMORY="+b.memory,
		"WEIR_INSTANCE=mirrors", "WEIR_DATA_DIR="+filepath.Join(dir, "data"),
		"WEIR_API_LISTEN=127.0.0.1:0", "WEIR_API_OPS_LISTEN=127.0.0.1:0",
	)
	return append(env, b.settings...)
}

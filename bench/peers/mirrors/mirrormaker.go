package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/bench/broker"
)

// defaultJVM are the heap of Kafka's own start script of MirrorMaker, and the level of the log. The
// script has the G1 collector, with which MirrorMaker copied two thirds as much on two CPUs.
const defaultJVM = "-server -Xms256M -Xmx2G -XX:+UseParallelGC -Djava.awt.headless=true " +
	"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"

func (b *bench) makerDir() string {
	return filepath.Join(b.root, "bench", "peers", "mirrors", "mirrormaker")
}

// buildMaker fetches MirrorMaker and the modules that it needs.
func (b *bench) buildMaker(ctx context.Context) error {
	if b.made == nil {
		err := b.Maven(ctx, b.makerDir(), "MirrorMaker 2")
		b.made = &err
	}
	return *b.made
}

// preparer returns the preparation of MirrorMaker, with or without exactly.once.source.support.
func (b *bench) preparer(exactly bool) func(context.Context, logName, string) (*setup, error) {
	return func(ctx context.Context, l logName, dir string) (*setup, error) {
		copies, internal := sourceDC+"."+l.topic(), fmt.Sprintf("weir.bench.mirrormaker-%d", time.Now().UnixNano())
		// Each run has its own internal topics: they hold the position of the copy.
		remove := func(ctx context.Context) error {
			return b.target.remove(ctx, func(name string) bool { return name == copies || strings.HasPrefix(name, internal) })
		}
		if err := remove(ctx); err != nil {
			return nil, err
		}
		if err := broker.Create(ctx, b.target.Cluster, copies, partitions, nil); err != nil {
			return nil, err
		}
		p := maker{source: b.source.addr, target: b.target.addr, topic: l.topic(), internal: internal, tasks: b.tasks, exactly: exactly}
		file := filepath.Join(dir, "mirrormaker.properties")
		if err := os.WriteFile(file, []byte(p.properties(b.properties)), 0o600); err != nil {
			return nil, err
		}
		args := append(strings.Fields(b.jvm),
			"-cp", filepath.Join(b.makerDir(), "target", "lib", "*"), "org.apache.kafka.connect.mirror.MirrorMaker", file)
		return &setup{
			copies: copies, program: program{name: "java", args: args, env: os.Environ(), log: filepath.Join(dir, "log")}, remove: remove,
		}, nil
	}
}

// maker is what distinguishes two configurations of MirrorMaker.
type maker struct {
	source, target  string // brokers
	topic, internal string // the log, and the prefix of the internal topics
	tasks           int
	exactly         bool
}

// properties returns the file of properties. more are lines name=value that override others.
func (m maker) properties(more []string) string {
	flow := sourceDC + "->" + targetDC + "."
	p := map[string]string{
		"clusters":                              sourceDC + "," + targetDC,
		sourceDC + ".bootstrap.servers":         m.source,
		targetDC + ".bootstrap.servers":         m.target,
		flow + "enabled":                        "true",
		targetDC + "->" + sourceDC + ".enabled": "false",
		flow + "topics":                         strings.ReplaceAll(m.topic, ".", `\\.`), // a regular expression
		"tasks.max":                             fmt.Sprint(m.tasks),
		"replication.factor":                    "1",

		// What weir's mirror does not do, either. Heartbeats of MirrorMaker need a second herder.
		"emit.heartbeats.enabled":           "false",
		flow + "emit.checkpoints.enabled":   "false",
		flow + "emit.offset-syncs.enabled":  "false",
		flow + "sync.group.offsets.enabled": "false",
		flow + "sync.topic.configs.enabled": "false",
		flow + "sync.topic.acls.enabled":    "false",

		// The Connect worker, with internal topics of this run.
		targetDC + ".group.id":                          m.internal,
		targetDC + ".offset.storage.topic":              m.internal + ".offsets",
		targetDC + ".config.storage.topic":              m.internal + ".configs",
		targetDC + ".status.storage.topic":              m.internal + ".status",
		targetDC + ".offset.storage.replication.factor": "1",
		targetDC + ".config.storage.replication.factor": "1",
		targetDC + ".status.storage.replication.factor": "1",
		// A killed worker is started again: to wait for its return would only cost time.
		targetDC + ".scheduled.rebalance.max.delay.ms": "0",

		// Larger reads and writes than the defaults.
		sourceDC + ".consumer.max.poll.records":          "10000",
		sourceDC + ".consumer.fetch.max.bytes":           "67108864",
		sourceDC + ".consumer.max.partition.fetch.bytes": "4194304",
		targetDC + ".producer.batch.size":                "524288",
		targetDC + ".producer.linger.ms":                 "5",
		targetDC + ".producer.buffer.memory":             "134217728",
		targetDC + ".producer.compression.type":          "lz4",
	}
	if m.exactly {
		maps.Copy(p, map[string]string{
			targetDC + ".exactly.once.source.support": "enabled",
			"dedicated.mode.enable.internal.rest":     "true",
			"listeners":                               "http://127.0.0.1:0",
			sourceDC + ".consumer.isolation.level":    "read_committed",
			// By default there is a transaction for each poll of the consumer.
			flow + "transaction.boundary":             "interval",
			flow + "transaction.boundary.interval.ms": "100",
		})
	}
	for _, line := range more {
		name, value, _ := strings.Cut(line, "=")
		p[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p)) {
		fmt.Fprintf(&text, "%s = %s\n", name, p[name])
	}
	return text.String()
}

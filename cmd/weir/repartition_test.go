package main

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/processors/kafka"
)

// TestRepartitionWithDeadLetters: a move that would leave dead letters behind is refused, until
// they are resolved or the operator gives them up. Then it is undone and repeated.
func TestRepartitionWithDeadLetters(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process")
	}
	dir := t.TempDir()
	env := []string{"WEIR_SPEND_PARTITIONS=2", "WEIR_INSTANCE=a", "WEIR_DATA_DIR=" + filepath.Join(dir, "data"), "WEIR_TOPICS_REPLICATION_FACTOR=1", "WEIR_TOPICS_MIN_INSYNC=1"}
	broker, env := counterBroker(t, env)
	sink, err := kafka.NewProducer(broker, events.EventsTopic)
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Close()
	for range 2 {
		if err := sink.Produce(t.Context(), 1, []byte("acme"), []byte("no event")); err != nil {
			t.Fatal(err)
		}
	}
	if err := sink.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Run("the records are rejected", func(t *testing.T) { // whose end stops the process
		background(t, env, "ready: API ", "run", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
		rows(t, env, func(list []map[string]any) bool { return len(list) == 2 }, "dlq", "list")
	})
	next := append(slices.Clone(env), "WEIR_SPEND_PARTITIONS=3", "WEIR_SPEND_GENERATION=2")
	expect(t, next, 0, "", "topics", "apply")
	for _, args := range [][]string{{"repartition"}, {"repartition", "--yes"}} {
		expect(t, next, 1, "2 records of the dead-letter topic spendcounter.dlq are not resolved", args...)
	}
	expect(t, next, 0, `"dead_letters": 2`, "repartition", "--allow-dead-letters", "-o", "json")
	expect(t, env, 0, "", "dlq", "drop", "--all", "--why", "test", "--yes")
	expect(t, next, 0, `"dead_letters": 0`, "repartition", "--yes", "-o", "json")
	// The former generation refuses to run, unless the move is undone. Then the new one does.
	start := []string{"run", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"}
	expect(t, env, 78, "weir repartition --undo", start...)
	expect(t, env, 1, "was moved to another application: partition 0", "doctor")
	expect(t, next, 0, "then spendcounter can run again", "repartition", "--undo")
	expect(t, env, 78, "weir repartition --undo", start...)
	expect(t, next, 0, "the move is undone", "repartition", "--undo", "--yes")
	expect(t, next, 78, "the move is not complete", start...)
	t.Run("after the undo", func(t *testing.T) { background(t, env, "ready: API ", start...) })
	expect(t, next, 0, "the state is moved", "repartition", "--yes")
	background(t, next, "ready: API ", "run", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
}

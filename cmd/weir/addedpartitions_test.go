package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// TestAddedPartitions: an administrator has added partitions 6 and 7 to ads.events, and a producer
// has used one of them. No command advises to count with 8 partitions, none produces to the wrong
// partitions, and the records in the added ones are named until they are deleted.
func TestAddedPartitions(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process")
	}
	dir := t.TempDir()
	env := []string{"WEIR_SPEND_PARTITIONS=6", "WEIR_INSTANCE=a", "WEIR_DATA_DIR=" + filepath.Join(dir, "data"), "WEIR_TOPICS_REPLICATION_FACTOR=1", "WEIR_TOPICS_MIN_INSYNC=1"}
	broker, env := counterBroker(t, env, func(topic *stream.Topic) {
		if topic.Name == events.EventsTopic {
			topic.Partitions = 8
		}
	})
	sink, err := kafka.NewProducer(broker, events.EventsTopic)
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Close()
	for range 4 {
		if err := sink.Produce(t.Context(), 7, []byte("acme"), []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	if err := sink.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	brokers := strings.Join(broker.Brokers, ",")
	file := filepath.Join(dir, "events.jsonl")
	if err := os.WriteFile(file, []byte(`{"event_id":"e","account":"acme","campaign":"c","type":"click","price_micros":1,"currency":"USD","event_ms":1384000000000}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const added = "partitions 6 and 7 of ads.events were added, and are not read"
	t.Run("while a process runs", func(t *testing.T) { // whose end stops the process
		ready := background(t, env, "ready: API ", "run", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
		env := append(slices.Clone(env), "WEIR_SERVER="+regexp.MustCompile(`API http://([^,]+),`).FindStringSubmatch(ready)[1])
		running := func(r map[string]any) bool { return r["partition"].(float64) >= 6 || r["task"] == "running" }
		list := rows(t, env, func(list []map[string]any) bool { // the process is ready before it has all partitions
			return len(list) > 0 && !slices.ContainsFunc(list, func(r map[string]any) bool { return !running(r) })
		}, "lag", "--app", "spendcounter")
		for _, r := range list {
			is := r["topic"] == events.EventsTopic && r["partition"].(float64) >= 6
			if strings.Contains(r["reason"].(string), added) != is {
				t.Errorf("the reason of %v[%v] is %q", r["topic"], r["partition"], r["reason"])
			}
		}
		expect(t, env, 0, added, "ingest", file, "--format", "jsonl")
	})
	eight := append(slices.Clone(env), "WEIR_SPEND_PARTITIONS=8")
	for _, c := range []struct {
		env  []string
		code int
		want string
		args []string
	}{
		{env, 0, added, []string{"topics", "plan"}},
		{env, 1, added, []string{"topics", "apply"}},
		{env, 1, "do: set the producers back to 6 partitions, send the records of the added partitions again, then delete", []string{"doctor"}},
		{env, 0, added, []string{"ingest", file, "--format", "jsonl", "--brokers", brokers}},
		{eight, 0, "the state has 6 partitions; set spend.partitions to 6", []string{"topics", "plan"}},
		{eight, 1, "do: set spend.partitions to 6", []string{"doctor"}},
		{eight, 78, "set spend.partitions to 6", []string{"ingest", file, "--format", "jsonl", "--brokers", brokers}},
		{eight, 69, "the state has 6 partitions", []string{"run", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"}},
	} {
		r := weir(t, c.env, c.args...)
		text := r.Stdout + r.Stderr
		if r.Code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("weir %s: code %d, want %d and %q in:\n%s", strings.Join(c.args, " "), r.Code, c.code, c.want, text)
		}
		for _, hint := range []string{"set spend.partitions to 8", "if 8 is right", "to the number that the topics have"} {
			if strings.Contains(text, hint) {
				t.Errorf("weir %s advises to count with 8 partitions:\n%s", strings.Join(c.args, " "), text)
			}
		}
	}
	next := append(slices.Clone(env), "WEIR_SPEND_GENERATION=2")
	expect(t, next, 0, "", "topics", "apply")
	expect(t, next, 1, added+": 4 records there are not counted", "repartition")
}

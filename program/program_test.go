package program_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/devbroker"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/program"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

// split writes each word of a line with the word as its key, and count reads the words.
func split() stream.Processor {
	return stream.Processor{
		App: "split", Inputs: []string{"lines"}, Outputs: stream.OutputTopics("words"),
		New: stream.EachRecord(func(c *stream.Context, line *stream.Record) error {
			for word := range strings.FieldsSeq(string(line.Value)) {
				c.Emit("words", stream.Message{Key: []byte(word)})
			}
			return nil
		}),
	}
}

func count() stream.Processor {
	return stream.Processor{
		App: "count", Inputs: []string{"words"}, Outputs: stream.OutputTopics("counts"),
		New: stream.EachRecord(func(c *stream.Context, word *stream.Record) error {
			c.Emit("counts", stream.Message{Key: word.Key, Value: []byte("1")})
			return nil
		}),
	}
}

func broker(t *testing.T, topics ...stream.Topic) kafka.Cluster {
	t.Helper()
	b, err := devbroker.Start(devbroker.Config{Topics: topics})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b.Kafka()
}

func config(t *testing.T, k kafka.Cluster) program.Config {
	return program.Config{
		Runtime: processors.Config{Kafka: k, Dir: t.TempDir(), Instance: "one", Workers: 1},
		Topics:  kafkaadmin.TopicOptions{Partitions: 2},
	}
}

// partitions returns the number of partitions of each topic.
func partitions(t *testing.T, k kafka.Cluster, topics ...string) map[string]int {
	t.Helper()
	n := map[string]int{}
	for _, topic := range topics {
		ends, err := kafka.EndOffsets(t.Context(), k, topic)
		if err != nil {
			t.Fatalf("%s: %v", topic, err)
		}
		n[topic] = len(ends[topic])
	}
	return n
}

// TestRun runs two processors with a topic between them: topics, metrics, the ops listener, state
// directories, and a stop in good order.
func TestRun(t *testing.T) {
	k := broker(t, stream.DataTopic("lines", 3, 0))
	cfg := config(t, k)
	cfg.OpsListen = "127.0.0.1:0"
	p, err := program.New(cfg, split(), count())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(testlimit.Context(t))
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	select {
	case <-p.Server().Ready():
	case err := <-ended:
		t.Fatal(err)
	}
	producer, err := kafka.NewProducer(k, "lines")
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	for part := range int32(3) {
		if err := producer.Produce(ctx, part, nil, []byte("to be or not to be")); err != nil {
			t.Fatal(err)
		}
	}
	if err := producer.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	testlimit.Within(t, "both processors are in the metrics", func(ctx context.Context) error {
		for _, want := range []string{`weir_processor_records_total{app="split"} 3`, `weir_processor_records_total{app="count"} 18`} {
			if text := get(ctx, t, p, "/metrics"); !strings.Contains(text, want) {
				return errors.New("no " + want)
			}
		}
		return nil
	})
	if text := get(ctx, t, p, "/readyz"); !strings.Contains(text, `"ready":true`) {
		t.Error(text)
	}
	stop()
	if err := testlimit.Receive(t, "the end", ended); err != nil {
		t.Error(err)
	}
	for topic, n := range partitions(t, k, "lines", "split.changelog", "split.dlq", "words", "count.changelog", "count.dlq", "counts") {
		want := 2
		if topic == "lines" || strings.HasPrefix(topic, "split") {
			want = 3
		}
		if n != want {
			t.Errorf("%s has %d partitions, want %d", topic, n, want)
		}
	}
	for _, app := range []string{"split", "count"} {
		if rt := p.Runtime(app); rt == nil || rt.Partitions() != map[string]int32{"split": 3, "count": 2}[app] {
			t.Errorf("runtime of %s: %v", app, rt)
		}
		if _, err := os.Stat(filepath.Join(cfg.Runtime.Dir, app)); err != nil {
			t.Error(err)
		}
	}
}

func get(ctx context.Context, t *testing.T, p *program.Program, path string) string {
	t.Helper()
	_, body, _ := strings.Cut(fetch(ctx, "http://"+p.Server().OpsAddr()+path), " ")
	return body
}

// fetch returns the status and the body of an answer, or the error.
func fetch(ctx context.Context, url string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err.Error()
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(res.StatusCode, " ", string(body))
}

// TestSlog: the API logs to the handler of the runtimes.
func TestSlog(t *testing.T) {
	var out bytes.Buffer
	cfg := config(t, broker(t))
	cfg.OpsListen, cfg.Runtime.Slog = "127.0.0.1:0", slog.NewJSONHandler(&out, nil)
	p, err := program.New(cfg, split(), count())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(testlimit.Context(t))
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	select {
	case <-p.Server().Ready():
	case err := <-ended:
		t.Fatal(err)
	}
	stop()
	if err := testlimit.Receive(t, "the end", ended); err != nil {
		t.Error(err)
	}
	if want := `"msg":"api.serving"`; !strings.Contains(out.String(), want) {
		t.Errorf("no %s in the log:\n%s", want, &out)
	}
}

// TestOneDescription: a processor that reads the dead letters of another one compares their topic
// with what the program creates.
func TestOneDescription(t *testing.T) {
	repair := count()
	repair.App, repair.Inputs = "repair", []string{"split.dlq"}
	p, err := program.New(config(t, kafka.Cluster{Brokers: []string{"127.0.0.1:1"}}), repair, split())
	if err != nil {
		t.Fatal(err)
	}
	for _, app := range []string{"repair", "split"} {
		list := p.Runtime(app).Config().Topics
		i := slices.IndexFunc(list, func(t stream.Topic) bool { return t.Name == "split.dlq" })
		if i < 0 || list[i].Cleanup != stream.CleanupCompact {
			t.Errorf("%s compares %+v", app, list)
		}
	}
}

// TestFirstError: the error of one processor ends the other and names the one that failed.
func TestFirstError(t *testing.T) {
	cfg := config(t, broker(t))
	if err := os.WriteFile(filepath.Join(cfg.Runtime.Dir, "count"), nil, 0o600); err != nil { // where its directory should be
		t.Fatal(err)
	}
	if err := program.Run(testlimit.Context(t), cfg, split(), count()); err == nil || !strings.HasPrefix(err.Error(), "processor count: ") {
		t.Error(err)
	}
}

// TestStoppedAtStart: the end of the context is not an error, also before a processor runs, and
// also if it ends by a deadline.
func TestStoppedAtStart(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	for _, ctx := range []context.Context{ctx, late} {
		cfg := config(t, broker(t))
		cfg.OpsListen = "127.0.0.1:0"
		if err := program.Run(ctx, cfg, split(), count()); err != nil {
			t.Error(err)
		}
	}
}

// TestRefused: what cannot run is an error before a broker is asked.
func TestRefused(t *testing.T) {
	with := func(change func(p *stream.Processor)) stream.Processor {
		p := count()
		change(&p)
		return p
	}
	for what, x := range map[string]struct {
		list []stream.Processor
		want string
	}{
		"nothing":       {nil, "there is no processor: give at least one"},
		"one name":      {[]stream.Processor{split(), with(func(p *stream.Processor) { p.App = "split" })}, `two processors have the name "split"`},
		"one changelog": {[]stream.Processor{split(), with(func(p *stream.Processor) { p.Changelog = "split.changelog" })}, `processors "split" and "count" have the same changelog split.changelog`},
		"output to a changelog": {
			[]stream.Processor{with(func(p *stream.Processor) { p.Outputs = stream.OutputTopics("split.changelog") }), split()},
			`processor "count" writes output split.changelog, which is the changelog of processor "split"`,
		},
		"dead letters to a changelog": {
			[]stream.Processor{split(), with(func(p *stream.Processor) { p.DLQ = "split.changelog" })},
			`processor "count" writes its dead letters to split.changelog, which is the changelog of processor "split"`,
		},
		"without inputs": {[]stream.Processor{split(), with(func(p *stream.Processor) { p.Inputs = nil })}, `processor "count" has no input topic: name at least one in Inputs`},
		"without New":    {[]stream.Processor{split(), with(func(p *stream.Processor) { p.New = nil })}, `processor "count": New is nil: give the function`},
	} {
		if _, err := program.New(config(t, kafka.Cluster{Brokers: []string{"127.0.0.1:1"}}), x.list...); !errors.Is(err, processors.ErrConfig) || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %s", what, err, x.want)
		}
	}
	cfg := config(t, kafka.Cluster{Brokers: []string{"127.0.0.1:1"}})
	cfg.Topics.Replace = []stream.Topic{{Name: "counts"}}
	if _, err := program.New(cfg, count()); err == nil || !strings.Contains(err.Error(), `topic "counts" of TopicOptions.Replace has the cleanup policy ""`) {
		t.Error(err)
	}
}

// TestRefusedTopics: what does not fit the topics is an error, and nothing is created.
func TestRefusedTopics(t *testing.T) {
	k := broker(t, stream.DataTopic("words", 8, 0))
	reader := count()
	reader.Partitions = 4
	own := split()
	own.Outputs[0].Partitioner = func(key []byte, _ int32) int32 { return stream.Murmur2(key, 12) }
	for want, list := range map[string][]stream.Processor{
		"processor count: words has 8 partitions, and count needs 4":       {split(), reader},
		"processor split: the partitioner of output words chose partition": {own, count()},
	} {
		if err := program.Run(testlimit.Context(t), config(t, k), list...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := kafka.EndOffsets(t.Context(), k, "lines"); err == nil {
		t.Error("topics were created")
	}
}

// TestQueries: a query has the committed state of its processor.
func TestQueries(t *testing.T) {
	k := broker(t, stream.DataTopic("words", 2, 0))
	counts := state.Named(1, "counts", state.String{}, state.Uint64{})
	cfg := config(t, k)
	cfg.Queries = []api.Query{program.NewQuery("count", "counts", counts.Get)}
	counter := stream.Processor{
		App: "count", Tables: state.Tables(counts),
		On: []stream.Callback{stream.OnBytes("words", func(c *stream.Context, r *stream.Record) error {
			n, _, err := counts.Get(c, string(r.Key))
			counts.Put(c, string(r.Key), n+1)
			return err
		})},
	}
	if _, err := program.New(cfg, counter); !errors.Is(err, processors.ErrConfig) || !strings.Contains(err.Error(), "Queries are answered by the API, and Listen is empty") {
		t.Error(err)
	}
	cfg.Listen = "127.0.0.1:0"
	p, err := program.New(cfg, counter)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(testlimit.Context(t))
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	producer, err := kafka.NewProducer(k, "words")
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	for _, word := range strings.Fields("to be or not to be") {
		if err := producer.Produce(ctx, stream.Murmur2([]byte(word), 2), []byte(word), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := producer.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]string{"to": "200 2\n", "be": "200 2\n", "or": "200 1\n", "that": "404 "} {
		testlimit.Within(t, word, func(ctx context.Context) error {
			if got := fetch(ctx, "http://"+p.Server().Addr()+"/query/counts/"+word); !strings.HasPrefix(got, want) {
				return errors.New(got)
			}
			return nil
		})
	}
	stop()
	if err := testlimit.Receive(t, "the end", ended); err != nil {
		t.Error(err)
	}
}

// TestOpsListenAlone: the ops listener alone opens no port for the API, and an address of the
// program's own HTTP server stays.
func TestOpsListenAlone(t *testing.T) {
	cfg := config(t, broker(t))
	cfg.OpsListen, cfg.Runtime.Endpoint = "127.0.0.1:0", "queries:8090"
	p, err := program.New(cfg, count())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(testlimit.Context(t))
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	testlimit.Within(t, "it is ready", func(ctx context.Context) error {
		if text := get(ctx, t, p, "/readyz"); !strings.Contains(text, `"ready":true`) {
			return errors.New(text)
		}
		return nil
	})
	if addr := p.Server().Addr(); addr != "" {
		t.Errorf("the API listens on %s", addr)
	}
	owner, err := p.Runtime("count").Owner(ctx, []byte("a"))
	if err != nil || !owner.Self || owner.Endpoint != "queries:8090" {
		t.Errorf("owner %+v, %v", owner, err)
	}
	stop()
	if err := testlimit.Receive(t, "the end", ended); err != nil {
		t.Error(err)
	}
	cfg.Listen = "127.0.0.1:0"
	if _, err := program.New(cfg, count()); !errors.Is(err, processors.ErrConfig) || !strings.Contains(err.Error(), `Runtime.Endpoint is "queries:8090"`) {
		t.Error(err)
	}
}

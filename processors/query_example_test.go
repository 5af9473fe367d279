package processors_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/devbroker"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

// counter counts words, and serves the counts of a process.
type counter struct {
	rt     *processors.Runtime
	counts *state.Table[string, uint64]
}

func newCounter() *counter {
	return &counter{counts: state.NewTable(1, state.String{}, state.Uint64{})}
}

// processor counts the words that are the keys of its input.
func (s *counter) processor() stream.Processor {
	return stream.Processor{
		App: "count", Inputs: []string{"words"},
		New: stream.EachRecord(func(c *stream.Context, word *stream.Record) error {
			n, _, err := s.counts.Get(c, string(word.Key))
			s.counts.Put(c, string(word.Key), n+1)
			return err
		}),
	}
}

// serveCount answers with the count of a word, or redirects to the process that has it.
func (s *counter) serveCount(w http.ResponseWriter, r *http.Request) {
	word, n := r.PathValue("word"), uint64(0)
	err := s.rt.Read(r.Context(), []byte(word), func(p processors.PartitionState) (err error) {
		n, _, err = s.counts.Get(p, word)
		return err
	})
	switch other, ok := errors.AsType[*processors.NotOwnedError](err); {
	case ok && other.Owner.Endpoint != "":
		http.Redirect(w, r, "http://"+other.Owner.Endpoint+r.URL.RequestURI(), http.StatusTemporaryRedirect)
	case err != nil: // such as processors.ErrRestoring: ask again
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	default:
		fmt.Fprintln(w, n)
	}
}

// Two processes share the partitions. Each answers questions about its own keys, and redirects
// those about other keys to the process that has them.
func ExampleRuntime_Read() {
	ctx, cancel := context.WithTimeout(context.Background(), testlimit.Limit)
	defer cancel()
	var topics []stream.Topic
	for _, name := range []string{"words", "count.changelog", "count.dlq"} {
		topics = append(topics, stream.Topic{Name: name, Partitions: 4})
	}
	broker, err := devbroker.Start(devbroker.Config{Topics: topics})
	must(err)
	defer func() { must(broker.Close()) }()

	// start starts a process and returns the address of its HTTP server.
	ended := make(chan error, 2)
	life, stop := context.WithCancel(ctx)
	start := func(instance string) string {
		dir, err := os.MkdirTemp("", instance)
		must(err)
		handler, mux := newCounter(), http.NewServeMux()
		mux.HandleFunc("GET /counts/{word}", handler.serveCount)
		server := httptest.NewServer(mux)
		endpoint := strings.TrimPrefix(server.URL, "http://")
		handler.rt, err = processors.New(processors.Config{Kafka: broker.Kafka(), Dir: dir, Instance: instance, Endpoint: endpoint}, handler.processor())
		must(err)
		go func() {
			err := handler.rt.Run(life)
			server.Close()
			ended <- errors.Join(err, os.RemoveAll(dir))
		}()
		return server.URL
	}
	one := start("one")
	start("two")

	cl, err := broker.Kafka().Client(kgo.DefaultProduceTopic("words"))
	must(err)
	defer cl.Close()
	text := strings.Fields("to be or not to be that is the question")
	for _, word := range text {
		must(cl.ProduceSync(ctx, &kgo.Record{Key: []byte(word)}).FirstErr())
	}
	for _, word := range []string{"to", "be", "or", "not"} {
		fmt.Println(word, ask(ctx, one+"/counts/"+word, strings.Count(strings.Join(text, " ")+" ", word+" ")))
	}
	stop()
	must(errors.Join(<-ended, <-ended))
	// Output:
	// to 2
	// be 2
	// or 1
	// not 1
}

// ask asks until the answer is want: the word may not be counted yet.
func ask(ctx context.Context, url string, want int) (n int) {
	for ; n != want; pause.Poll(ctx) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		must(err)
		res, err := http.DefaultClient.Do(req) // follows the redirect
		must(err)
		if res.StatusCode == http.StatusOK {
			_, err = fmt.Fscan(res.Body, &n)
			must(err)
		}
		must(res.Body.Close())
	}
	return n
}

package api

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/stream"
)

// queryPath is what the paths of queries begin with.
const queryPath = "/query/"

// Query answers GET /query/NAME/KEY with JSON, in every process for all keys: it reads the
// committed state of the partition that Kafka's default partitioner gives to the key, in this
// process or in the owner's. KEY is the rest of the path in percent-encoding, and may have slashes.
//
//	200  the JSON of Read
//	400  the path has no key
//	401  the request has no valid token
//	404  Read has found nothing
//	429  the process has too many requests: ask again after a pause
//	503  the partition cannot be read now, such as during a takeover: ask again after a pause
//	504  the owner did not answer in time
//	500  any other error of Read
//
// An error is {"code": ..., "message": ...}, with the codes of Connect.
type Query struct {
	// App is the name of one of Config.Apps that has a State.
	App string
	// Name is unique among the queries, and a valid name: see stream.ValidName.
	Name string
	// Read returns the JSON for a key, nil if there is nothing. get reads committed rows of the
	// partition, each as of its own time. Read is called concurrently.
	Read func(get stream.Get, key string) ([]byte, error)
}

// checkQueries returns an error for a query that cannot be answered.
func (c Config) checkQueries() error {
	for i, q := range c.Queries {
		switch {
		case !stream.ValidName(q.Name) || q.Read == nil:
			return &FieldError{
				[]string{"Queries"},
				fmt.Errorf("query %q has no function, or no legal name: use 1 to 200 letters, digits, '.', '_' or '-'", q.Name),
			}
		case slices.ContainsFunc(c.Queries[:i], func(o Query) bool { return o.Name == q.Name }):
			return &FieldError{[]string{"Queries"}, fmt.Errorf("two queries have the name %q: give each a name of its own", q.Name)}
		case !slices.ContainsFunc(c.Apps, func(a App) bool { return a.Name == q.App && a.State != nil }):
			return &FieldError{
				[]string{"Queries"},
				fmt.Errorf("query %q is about %q, and this process has no such application with state: correct the name", q.Name, q.App),
			}
		}
	}
	return nil
}

// withQueries returns a handler that answers queries, and leaves other requests to next. It stands
// before a ServeMux, which cleans paths: https://example.org would become another key.
func (s *Server) withQueries(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, ok := strings.CutPrefix(r.URL.Path, queryPath)
		name, key, _ := strings.Cut(path, "/")
		i := slices.IndexFunc(s.cfg.Queries, func(q Query) bool { return q.Name == name })
		if !ok || i < 0 || r.Method != http.MethodGet && r.Method != http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		q := &s.cfg.Queries[i]
		body, err := q.answer(withRequestMeta(r.Context(), r.Header), s.apps.stateOf(q.App), key)
		o := outcomeOf(r.Context())
		o.reached, o.err = true, err
		if err != nil {
			deny(w, r, httpStatus(err), err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, "%s\n", body) // the caller may have left
	})
}

// answer returns the JSON for a key. Its errors have a code.
func (q *Query) answer(ctx context.Context, router *Router, key string) ([]byte, error) {
	partitions := router.state.Info().Partitions
	switch {
	case key == "" || len(key) > maxKeyBytes:
		return nil, invalid("the key has %d bytes: send GET %s%s/KEY with a key of 1 to %d bytes", len(key), queryPath, q.Name, maxKeyBytes)
	case partitions == 0:
		return nil, retryLater(errorf(connect.CodeUnavailable, "%s has not started in this process: try again in a moment", q.App))
	}
	partition := stream.Murmur2([]byte(key), partitions)
	body, err := q.Read(func(table byte, key []byte) ([]byte, error) {
		page, err := router.Page(ctx, PageQuery{Partition: partition, Table: table, From: key, To: append(bytes.Clone(key), 0), Limit: 1})
		if err != nil || len(page.Entries) == 0 {
			return nil, err
		}
		return append([]byte{}, page.Entries[0].Value...), nil // not nil, also if it is empty: the key has a row
	}, key)
	what := fmt.Sprintf("query %s of key %q", q.Name, key)
	switch {
	case err != nil:
		if err = sourceError(err, what); connect.CodeOf(err) == connect.CodeUnavailable {
			err = retryLater(err)
		}
		return nil, err
	case body == nil:
		return nil, errorf(connect.CodeNotFound, "%s has found nothing", what)
	}
	return body, nil
}

// httpStatus is the HTTP status of an error of a query.
func httpStatus(err error) int {
	switch connect.CodeOf(err) {
	case connect.CodeInvalidArgument:
		return http.StatusBadRequest
	case connect.CodeNotFound:
		return http.StatusNotFound
	case connect.CodeUnavailable, connect.CodeCanceled:
		return http.StatusServiceUnavailable
	case connect.CodeDeadlineExceeded:
		return http.StatusGatewayTimeout
	default:
		return http.StatusInternalServerError
	}
}

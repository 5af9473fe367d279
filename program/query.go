package program

import (
	"encoding/json"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

// NewQuery makes a query of Config.Queries of a function that reads a value by the key of a record,
// such as the method Get of a table or of sessions with keys of state.String:
//
//	cfg.Queries = []api.Query{program.NewQuery("wordcount", "counts", counts.Get)}
//
// Each process answers GET /query/counts/WORD on Config.Listen for all words, with what
// encoding/json makes of the value. app is the processor whose state read reads: the committed rows
// of the partition that the default partitioner gives to the key. read may read several rows, each
// as of its own time. Other statuses than 200 are those of api.Query.
func NewQuery[V any](app, name string, read func(r state.Reader, key string) (v V, ok bool, err error)) api.Query {
	return api.Query{App: app, Name: name, Read: func(get stream.Get, key string) ([]byte, error) {
		v, ok, err := read(get, key)
		if err != nil || !ok {
			return nil, err
		}
		return json.Marshal(v)
	}}
}

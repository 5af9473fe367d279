package processors

import (
	"errors"
	"fmt"

	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/stream"

	"github.com/cockroachdb/pebble/v2"
)

// Range calls fn for each key of span, in order.
// Key and value are valid during the call only. An error of fn ends it and is returned.
func (s *Snapshot) Range(span KeyRange, fn func(key, value []byte) error) (err error) {
	upper := store.PrefixEnd(store.Key(span.Partition, span.Table, nil))
	if span.To != nil {
		upper = store.Key(span.Partition, span.Table, span.To)
	}
	it, err := s.snap.NewIter(&pebble.IterOptions{LowerBound: store.Key(span.Partition, span.Table, span.From), UpperBound: upper})
	if err != nil {
		return fmt.Errorf("scan store: %w", err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for it.First(); it.Valid(); it.Next() {
		if err := fn(it.Key()[3:], it.Value()); err != nil {
			return err
		}
	}
	return it.Error()
}

// KeyRange is a range of the keys of one table in one partition.
type KeyRange struct {
	Partition int32
	Table     byte
	From, To  []byte // To is the first key after it; nil: the end of the table
}

// Instance is the name of this process among those of the application.
func (r *Runtime) Instance() string { return r.cfg.Instance }

// Config returns the configuration that New was given, with its defaults.
func (r *Runtime) Config() Config { return r.given }

// Processor is what runs.
func (r *Runtime) Processor() stream.Processor { return r.proc }

// App is the application id.
func (r *Runtime) App() string { return r.proc.App }

// Advertise tells the others that this process's API is at endpoint, host:port. It is for a process that learns its port after
// New, and comes before Run.
func (r *Runtime) Advertise(endpoint string) { r.cfg.Endpoint = endpoint }

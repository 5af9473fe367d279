package logreader

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/internal/pause"
)

// id names a partition.
type id struct {
	topic string
	n     int32
}

// Reader reads partitions of one cluster with one client. It is made by New, and is at work while
// it has an open Partition. It is safe for concurrent use.
type Reader struct {
	cfg Config

	// life has an element while Open or Close is at work. It is not a mutex, because Close waits
	// for the clients: see doc.go.
	life chan struct{}
	stop func() // ends the goroutine; nil while no partition is open

	mu      sync.Mutex // guards the fields below, and those of the partitions
	parts   map[id]*Partition
	cl      *kgo.Client // that of the session; nil between two sessions
	removed []id        // that the client has to stop reading
	unheard string      // why the cluster does not answer; empty if it does
	opened  chan struct{}
}

// New makes a Reader. It makes no request.
func New(cfg Config) *Reader {
	cfg.setDefaults()
	return &Reader{cfg: cfg, parts: map[id]*Partition{}, life: make(chan struct{}, 1), opened: make(chan struct{}, 1)}
}

// Open begins to read a partition. It makes no request. A partition that is open cannot be opened
// again. Close it.
func (r *Reader) Open(topic string, partition int32, at Position) (*Partition, error) {
	r.life <- struct{}{}
	defer func() { <-r.life }()
	p := &Partition{r: r, id: id{topic, partition}, at: at, taken: at, ready: make(chan struct{}), end: -1}
	r.mu.Lock()
	if r.parts[p.id] != nil {
		r.mu.Unlock()
		return nil, fmt.Errorf("%s[%d] is read already: close it first", topic, partition)
	}
	r.parts[p.id] = p
	r.mu.Unlock()
	select {
	case r.opened <- struct{}{}:
	default:
	}
	if r.stop == nil {
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { r.run(ctx) })
		r.stop = func() { cancel(); running.Wait() }
	}
	return p, nil
}

// Pauses before a new session.
const (
	sessionPause    = time.Second
	sessionPauseMax = 10 * time.Second
)

// run holds sessions until ctx ends.
func (r *Reader) run(ctx context.Context) {
	for wait := sessionPause; ctx.Err() == nil; {
		switch err := r.session(ctx); {
		case ctx.Err() != nil:
			return
		case err == nil:
			wait = sessionPause
		default:
			r.mu.Lock()
			r.unheard = err.Error()
			r.mu.Unlock()
			pause.For(ctx, wait)
			wait = min(2*wait, sessionPauseMax)
		}
	}
}

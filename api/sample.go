package api

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/weirhq/weir/api/page"
)

// Bounds of the reads for samples.
const (
	// firstWait is how long a page waits for the first value of a sample.
	firstWait   = 100 * time.Millisecond
	sampleLimit = 30 * time.Second
	// restShare is the least pause after a read, as a multiple of the time that the read took.
	restShare = 20
)

// samples own the goroutines that read in the background. They end with the server.
type samples struct {
	ends   context.Context //nolint:containedctx // of goroutines that outlive the request that starts them
	cancel context.CancelFunc
	mu     sync.Mutex // orders start and stop
	wg     sync.WaitGroup
}

// newSamples returns samples whose reads send the token of the process to other processes.
func newSamples(token string) *samples {
	h := http.Header{}
	if token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
	s := &samples{}
	s.ends, s.cancel = context.WithCancel(withRequestMeta(context.Background(), h))
	return s
}

// start runs fn in a goroutine. It returns false after stop.
func (s *samples) start(fn func(context.Context)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ends.Err() != nil {
		return false
	}
	s.wg.Go(func() { fn(s.ends) })
	return true
}

// stop returns after the goroutines.
func (s *samples) stop() {
	s.mu.Lock()
	s.cancel()
	s.mu.Unlock()
	s.wg.Wait()
}

// sample is a figure whose read takes long, such as that of a topic. It is read in the background,
// and only while pages ask for it: at most once in every, and for a small share of the time.
type sample[T any] struct {
	read     func(context.Context) (T, error)
	every    time.Duration
	panicked func(v any) // notes a panic of read

	mu    sync.Mutex
	value T
	last  page.Sampled  // of value
	next  time.Time     // no read begins before
	done  chan struct{} // not nil: a read is in progress; closed at its end
}

// get returns the last value and how it was read, and starts a read if the value is old. While
// nothing has been read it waits for firstWait at most. Without a sample ok is false.
func (m *sample[T]) get(ctx context.Context, s *samples) (value T, last page.Sampled, ok bool) {
	if m == nil {
		return value, last, false
	}
	m.mu.Lock()
	if m.done == nil && !time.Now().Before(m.next) && s.start(m.refresh) {
		m.done = make(chan struct{}) // before refresh can lock m
	}
	done, none := m.done, m.last.At.IsZero()
	m.mu.Unlock()
	if none && done != nil {
		timer := time.NewTimer(firstWait)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.value, m.last, true
}

func (m *sample[T]) refresh(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sampleLimit)
	defer cancel()
	began := time.Now()
	value, err := m.safely(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.value, m.last = value, page.Sampled{At: time.Now()}
	if err != nil {
		m.last.Err = message(err)
	}
	m.next = m.last.At.Add(max(m.every, restShare*m.last.At.Sub(began)))
	close(m.done)
	m.done = nil
}

// safely is read with a panic as an error, which would otherwise end the process.
func (m *sample[T]) safely(ctx context.Context) (value T, err error) {
	defer func() {
		if v := recover(); v != nil {
			m.panicked(v)
			err = errPanic
		}
	}()
	return m.read(ctx)
}

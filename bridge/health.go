package bridge

import "sync"

// health collects the state of the goroutines of a Bridge. It is safe for concurrent use.
type health struct {
	mu       sync.Mutex
	shards   map[string]shardProgress // that are being read, by id
	open     int                      // shards that are not finished
	stream   string                   // ARN
	scan     string                   // see Status.Scan
	rows     int64
	problems map[string]string // by operation
	latest   string            // the operation that failed last
}

// shardProgress is the time, Unix ms, up to which a shard was read, and whether that was its newest
// record.
type shardProgress struct {
	caughtUp bool
	readMs   int64
}

func newHealth() *health {
	return &health{shards: map[string]shardProgress{}, problems: map[string]string{}}
}

// read records a response: with it, all records written before ms were read. caughtUp: the shard
// has no newer ones.
func (h *health) read(shard string, caughtUp bool, ms int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !caughtUp {
		ms = max(ms, h.shards[shard].readMs)
	}
	h.shards[shard] = shardProgress{caughtUp, ms}
}

// failed records that a request for records of a shard failed.
func (h *health) failed(shard string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.shards[shard]
	t.caughtUp = false
	h.shards[shard] = t
}

func (h *health) finished(shard string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.shards, shard)
}

// lag returns the age in ms of the oldest record that was not read, 0 if all were read.
func (h *health) lag(nowMs int64) (oldest int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.shards {
		if !t.caughtUp {
			oldest = max(oldest, nowMs-t.readMs)
		}
	}
	return oldest
}

// setProblem records that an operation fails; nil: that it succeeds again.
func (h *health) setProblem(operation string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		delete(h.problems, operation)
		return
	}
	h.problems[operation], h.latest = err.Error(), operation
}

func (h *health) setStream(arn string, open int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stream, h.open = arn, open
}

func (h *health) setScan(kind string, rows int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.scan, h.rows = kind, rows
}

func (h *health) status(region string, nowMs int64) Status {
	lag := h.lag(nowMs)
	h.mu.Lock()
	defer h.mu.Unlock()
	s := Status{Region: region, LagMs: lag, Shards: h.open, Stream: h.stream, Scan: h.scan, Rows: h.rows, Problem: h.problems[h.latest]}
	for _, p := range h.problems {
		if s.Problem == "" {
			s.Problem = p
		}
	}
	return s
}

package bridge

import (
	"sync"
	"time"
)

// lagWarning is the lag at which a bridge warns: half of what DynamoDB keeps.
const lagWarning = 12 * time.Hour

// health is what the goroutines of a Bridge say of themselves. It is safe for use by many.
type health struct {
	mu       sync.Mutex
	shards   map[string]shardProgress
	open     int
	stream   string
	scan     string
	rows     int64
	problems map[string]string // by who has it
	latest   string            // who had one last
}

// shardProgress is up to when a shard was read, in Unix ms, and whether to its end.
type shardProgress struct {
	caughtUp bool
	readMs   int64
}

func newHealth() *health {
	return &health{shards: map[string]shardProgress{}, problems: map[string]string{}}
}

// read takes note of an answer: it has all that was written before ms, or not yet all.
func (h *health) read(shard string, caughtUp bool, ms int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !caughtUp {
		ms = max(ms, h.shards[shard].readMs)
	}
	h.shards[shard] = shardProgress{caughtUp, ms}
}

// failed takes note of a shard that could not be asked.
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

// lag is how old the oldest record is that was not read; 0 if all were.
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

// setProblem says what is wrong with who's work; nil that it goes well again.
func (h *health) setProblem(who string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		delete(h.problems, who)
		return
	}
	h.problems[who], h.latest = err.Error(), who
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

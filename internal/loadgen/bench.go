package loadgen

import "fmt"

// BenchConfig says what a benchmark's log holds.
type BenchConfig struct {
	// Seed decides the order of the campaigns and the prices.
	Seed uint64
	// Campaigns, 50 to an account. Defaults to 100,000.
	Campaigns int
	// Zipf is the exponent of the traffic's distribution over campaigns. Defaults to Even; benchmarks also use 1.1.
	Zipf float64
	// StartMs is the time of the first event, Unix milliseconds. Defaults to 1,767,225,600,000 (1 January 2026, UTC).
	StartMs int64
	// PerMs is how many events share a millisecond. Defaults to 1,000.
	PerMs int
}

// Bench makes the log of a benchmark: impressions alone, every one with its own id, values of 72 to 100 bytes, the same
// bytes for the same configuration.
type Bench struct {
	gen   *Generator
	nowMs int64
	perMs int
	left  int // events before the next millisecond
}

// NewBench returns the log's generator, or what is wrong with cfg.
func NewBench(cfg BenchConfig) (*Bench, error) {
	const perAccount, januaryMs = 50, 1_767_225_600_000
	if cfg.Campaigns == 0 {
		cfg.Campaigns = 100_000
	}
	if cfg.Zipf == 0 {
		cfg.Zipf = Even
	}
	if cfg.StartMs == 0 {
		cfg.StartMs = januaryMs
	}
	if cfg.PerMs == 0 {
		cfg.PerMs = 1000
	}
	if cfg.PerMs < 0 || cfg.Campaigns < 0 || cfg.Seed >= 1<<30 {
		return nil, fmt.Errorf("loadgen: %d events a millisecond over %d campaigns by seed %d: counts above 0, seed below 2^30", cfg.PerMs, cfg.Campaigns, cfg.Seed)
	}
	gen, err := New(Config{
		Seed: cfg.Seed, StartMs: cfg.StartMs, Accounts: max(1, cfg.Campaigns/perAccount), campaigns: cfg.Campaigns, Zipf: cfg.Zipf,
		ClickRate: -1, DuplicateRate: -1, Currencies: []string{"USD"}, Flat: true, NoInsertions: true,
	})
	return &Bench{gen: gen, nowMs: cfg.StartMs, perMs: cfg.PerMs, left: cfg.PerMs}, err
}

// Append makes the next event and appends its encoding to dst. The record's value is the appended part.
func (b *Bench) Append(dst []byte) ([]byte, Record) {
	if b.left == 0 {
		b.left = b.perMs
		b.nowMs++
	}
	b.left--
	return b.gen.Append(dst, b.nowMs)
}

// Stats returns what was made so far.
func (b *Bench) Stats() Stats { return b.gen.Stats() }

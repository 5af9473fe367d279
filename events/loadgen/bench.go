package loadgen

import "fmt"

// BenchConfig describes the log of a benchmark. Its zero value works.
type BenchConfig struct {
	// Seed determines the order of the campaigns and the prices. It is below 2^30.
	Seed uint64
	// Campaigns is the number of campaigns, 50 per account. Defaults to 100,000.
	Campaigns int
	// Zipf is the exponent of the distribution of traffic over campaigns. Defaults to Even.
	Zipf float64
	// StartMs is the time of the first event in Unix milliseconds. Defaults to 1,767,225,600,000
	// (1 January 2026 UTC).
	StartMs int64
	// PerMs is the number of events per millisecond of event time. Defaults to 1,000.
	PerMs int
}

// Bench generates the log of a benchmark: impressions with unique ids and values of 72 to 100
// bytes. Equal configurations generate equal bytes. It must not be used by several goroutines at
// once.
type Bench struct {
	gen   *Generator
	nowMs int64
	perMs int
	left  int // events until the next millisecond
}

// NewBench returns a generator, or an error if cfg is invalid.
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
		return nil, fmt.Errorf("loadgen: %d events per millisecond, %d campaigns, seed %d: use positive counts and a seed below 2^30",
			cfg.PerMs, cfg.Campaigns, cfg.Seed)
	}
	gen, err := New(Config{
		Seed: cfg.Seed, StartMs: cfg.StartMs, Accounts: max(1, cfg.Campaigns/perAccount), campaigns: cfg.Campaigns, Zipf: cfg.Zipf,
		ClickRate: -1, DuplicateRate: -1, Currencies: []string{"USD"}, Flat: true, NoInsertions: true,
	})
	return &Bench{gen: gen, nowMs: cfg.StartMs, perMs: cfg.PerMs, left: cfg.PerMs}, err
}

// Append generates the next event and appends its encoding to dst. The record's value is the
// appended part.
func (b *Bench) Append(dst []byte) ([]byte, Record) {
	if b.left == 0 {
		b.left = b.perMs
		b.nowMs++
	}
	b.left--
	return b.gen.Append(dst, b.nowMs)
}

// Stats returns the totals of the generated events.
func (b *Bench) Stats() Stats { return b.gen.Stats() }

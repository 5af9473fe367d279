package loadgen

import (
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/weirhq/weir/events/eventspb"
)

// Generator generates events. It must not be used by several goroutines at once.
type Generator struct {
	cfg        Config
	rng        *rand.PCG
	accounts   [][]byte
	campaigns  []campaign
	currencies [][]byte // encoded fields currency
	traffic    aliasTable
	cycles     [profiles][daySlots]uint32
	prices     []int64
	idPrefix   []byte
	dc         []byte // encoded field serving_dc

	clickLimit     uint64 // a random uint64 below it means a click
	duplicateLimit uint64 // a random uint64 below it means a duplicate

	last         uint64 // number of the last event, from 1
	requests     uint64 // ad requests that no campaign took
	pending      clickHeap
	recent       [recentEvents]event // events that a duplicate can repeat
	heartbeatSec int64               // Unix time of the last heartbeats
	stats        Stats
	current      eventspb.AdEvent
}

const recentEvents = 1 << 10

// event is an event before it is encoded.
type event struct {
	id, insertionID uint64 // 0 for none
	priceMicros     int64
	eventMs         int64
	ingestMs        int64
	campaign        int32 // index into Generator.campaigns
	eventType       eventspb.EventType
}

// Record is a Kafka record. All records of an account share Key. Value is a part of the buffer that
// the caller passed. The caller must change neither.
type Record struct {
	Partition  int32
	Key, Value []byte
}

// Stats are the totals of the generated events. Duplicates count in Duplicates only.
type Stats struct {
	Impressions, Clicks int64
	Duplicates          int64
	Heartbeats          int64
	Micros              int64 // sum of prices over all currencies
}

// New returns a generator, or an error if cfg is invalid.
func New(cfg Config) (*Generator, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	// The campaigns depend on the seed only, the traffic on the start time too.
	const campaignStream, trafficStream = 0x77656972, 0x6c6f6164
	g := &Generator{
		cfg:      cfg,
		rng:      rand.NewPCG(cfg.Seed, trafficStream^uint64(cfg.StartMs)),
		accounts: newAccounts(cfg.Accounts),
		traffic:  newZipf(cfg.campaigns, cfg.Zipf),
		cycles:   newCycles(),
		prices:   newPrices(),
		dc:       appendText(nil, numServingDC, []byte(cfg.DC)),

		clickLimit:     limit(cfg.ClickRate),
		duplicateLimit: limit(cfg.DuplicateRate),
		heartbeatSec:   math.MinInt64,
	}
	g.campaigns = newCampaigns(cfg, g.accounts, rand.New(rand.NewPCG(cfg.Seed, campaignStream)))
	for _, code := range cfg.Currencies {
		g.currencies = append(g.currencies, appendText(nil, numCurrency, []byte(code)))
	}
	const base = 32
	g.idPrefix = strconv.AppendInt(g.idPrefix, cfg.StartMs, base)
	g.idPrefix = append(g.idPrefix, '.')
	g.idPrefix = strconv.AppendUint(g.idPrefix, cfg.Seed, base)
	g.idPrefix = append(g.idPrefix, '.')
	return g, nil
}

// limit returns the number that a random uint64 is below with probability p.
func limit(p float64) uint64 {
	switch {
	case p <= 0:
		return 0
	case p >= 1:
		return math.MaxUint64
	}
	return uint64(p * (1 << 63) * 2)
}

// Stats returns the totals of the generated events.
func (g *Generator) Stats() Stats { return g.stats }

// Next generates one event at nowMs, in Unix milliseconds. The event is valid until the next call.
// It is nil if no campaign takes part in an auction.
func (g *Generator) Next(nowMs int64) *eventspb.AdEvent {
	e, ok := g.draw(nowMs)
	if !ok {
		return nil
	}
	return g.message(&e)
}

// Append generates one event at nowMs, in Unix milliseconds, and appends its encoding to dst. The
// record's value is the appended part. It is nil if no campaign takes part in an auction.
func (g *Generator) Append(dst []byte, nowMs int64) ([]byte, Record) {
	e, ok := g.draw(nowMs)
	if !ok {
		return dst, Record{}
	}
	from := len(dst)
	dst = g.appendEvent(dst, &e)
	c := &g.campaigns[e.campaign]
	return dst, Record{Partition: int32(c.partition), Key: g.accounts[c.account], Value: dst[from:len(dst):len(dst)]}
}

// draw returns the event at nowMs: a duplicate, a click that is due, or an impression. ok is false
// if no campaign takes part in the auction of an impression.
func (g *Generator) draw(nowMs int64) (e event, ok bool) {
	nowMs = max(nowMs, maxLagMs) // no event before 1970
	if g.duplicateLimit > 0 && g.last > 0 && g.rng.Uint64() < g.duplicateLimit {
		e = g.recent[g.rng.Uint64()%min(g.last, recentEvents)]
		e.ingestMs = nowMs
		g.stats.Duplicates++
		return e, true
	}
	g.last++
	if e, ok = g.pending.pop(nowMs); ok {
		g.stats.Clicks++
	} else {
		if e, ok = g.impression(nowMs); !ok {
			g.last--
			g.requests++
			return e, false
		}
		g.stats.Impressions++
	}
	e.id, e.ingestMs = g.last, nowMs
	g.stats.Micros += e.priceMicros
	g.recent[(g.last-1)%recentEvents] = e
	return e, true
}

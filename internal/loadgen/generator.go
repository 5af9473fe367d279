package loadgen

import (
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/weirhq/weir/events/eventspb"
)

// Generator makes events. It is for one goroutine.
type Generator struct {
	cfg        Config
	rng        *rand.PCG
	accounts   [][]byte
	campaigns  []campaign
	currencies [][]byte // fields currency, encoded
	traffic    alias
	shapes     [profiles][daySlots]uint32
	prices     []int64
	idPrefix   []byte
	dc         []byte // field serving_dc, encoded
	clickBelow uint64 // chances as limits of a random uint64
	twiceBelow uint64

	next    uint64 // number of the next event id, from 1
	pending clicks
	recent  [recentEvents]event // what a duplicate repeats
	beat    int64               // second of the last heartbeats
	stats   Stats
	current eventspb.AdEvent
}

const recentEvents = 1 << 10

// event is one before it is encoded.
type event struct {
	id, insertion uint64 // 0: none
	price         int64
	eventMs       int64
	ingestMs      int64
	campaign      int32
	kind          eventspb.EventType
}

// Record is an event as Kafka takes it. Key is shared by all records of an account; Value lies in the buffer that was
// handed in. Neither may be changed.
type Record struct {
	Partition  int32
	Key, Value []byte
}

// Stats is what a generator has made. Duplicates are in no other figure.
type Stats struct {
	Impressions, Clicks int64
	Duplicates          int64
	Heartbeats          int64
	Micros              int64 // of impressions and clicks, all currencies together
}

// New returns a generator, or what is wrong with cfg.
func New(cfg Config) (*Generator, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	const world, stream = 0x77656972, 0x6c6f6164 // the campaigns depend on the seed, the traffic on the start too
	g := &Generator{
		cfg:        cfg,
		rng:        rand.NewPCG(cfg.Seed, stream^uint64(cfg.StartMs)),
		accounts:   newAccounts(cfg.Accounts),
		traffic:    zipf(cfg.campaigns, cfg.Zipf),
		shapes:     newShapes(),
		prices:     newPrices(),
		dc:         appendText(nil, numServingDC, []byte(cfg.DC)),
		clickBelow: chance(cfg.ClickRate),
		twiceBelow: chance(cfg.DuplicateRate),
		beat:       math.MinInt64,
	}
	g.campaigns = newCampaigns(cfg, g.accounts, rand.New(rand.NewPCG(cfg.Seed, world)))
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

func chance(p float64) uint64 {
	switch {
	case p <= 0:
		return 0
	case p >= 1:
		return math.MaxUint64
	}
	return uint64(p * (1 << 63) * 2)
}

// Stats returns what was made so far.
func (g *Generator) Stats() Stats { return g.stats }

// Next makes one event at nowMs, Unix milliseconds. It is valid until the next call.
func (g *Generator) Next(nowMs int64) *eventspb.AdEvent {
	e := g.draw(nowMs)
	return g.message(&e)
}

// Append makes one event at nowMs, Unix milliseconds, and appends its encoding to dst. The record's value is the
// appended part.
func (g *Generator) Append(dst []byte, nowMs int64) ([]byte, Record) {
	e := g.draw(nowMs)
	from := len(dst)
	dst = g.appendEvent(dst, &e)
	c := &g.campaigns[e.campaign]
	return dst, Record{Partition: int32(c.partition), Key: g.accounts[c.account], Value: dst[from:len(dst):len(dst)]}
}

// draw decides what happens at nowMs: a duplicate, a click that has become due, or an impression.
func (g *Generator) draw(nowMs int64) event {
	nowMs = max(nowMs, maxLagMs) // no event before 1970
	if g.twiceBelow > 0 && g.next > 0 && g.rng.Uint64() < g.twiceBelow {
		e := g.recent[g.rng.Uint64()%min(g.next, recentEvents)]
		e.ingestMs = nowMs
		g.stats.Duplicates++
		return e
	}
	g.next++
	e, due := g.pending.pop(nowMs)
	if due {
		g.stats.Clicks++
	} else {
		e = g.impression(nowMs)
		g.stats.Impressions++
	}
	e.id, e.ingestMs = g.next, nowMs
	g.stats.Micros += e.price
	g.recent[(g.next-1)%recentEvents] = e
	return e
}

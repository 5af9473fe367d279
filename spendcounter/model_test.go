package spendcounter

import (
	"fmt"
	"math"
	"math/big"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// recount is a simple implementation of the same count: one record after the other, maps, big
// integers, generated decoders. It does not validate records: the generator marks the records that
// must be rejected.
type recount struct {
	cfg     Config
	spend   map[string]*recountSpend
	current map[string]bool // ids of this generation
	old     map[string]bool // ids of the generation before
	since   int64
	clock   int64
	applied map[string]int64 // per copied topic and origin partition

	count               map[string]uint64 // charged, per origin
	micros              map[string]*big.Int
	lost                map[string]uint64
	transportDuplicates map[string]uint64
	arrivals            []int64 // clamped ingest times of events, with duplicates
	duplicates          uint64
	total, refunded     *big.Int
	early               uint64
}

type recountSpend struct {
	charged, refunded map[string]*big.Int
	count             map[string]map[eventspb.EventType]uint64
	duplicates        uint64
	asOf              int64
}

func newRecount(cfg Config) *recount {
	return &recount{
		cfg: cfg, spend: map[string]*recountSpend{}, current: map[string]bool{}, old: map[string]bool{},
		applied: map[string]int64{}, count: map[string]uint64{}, micros: map[string]*big.Int{}, lost: map[string]uint64{},
		transportDuplicates: map[string]uint64{}, total: new(big.Int), refunded: new(big.Int),
	}
}

func (m *recount) at(campaign, account string, day int32, currency string) *recountSpend {
	c, err := events.ParseCurrency(currency)
	if err != nil {
		panic(err)
	}
	key := string(AppendKey(nil, []byte(campaign), []byte(account), events.Day(day), c))
	if m.spend[key] == nil {
		m.spend[key] = &recountSpend{
			charged: map[string]*big.Int{}, refunded: map[string]*big.Int{},
			count: map[string]map[eventspb.EventType]uint64{},
		}
	}
	return m.spend[key]
}

func plus(m map[string]*big.Int, key string, n int64) {
	if m[key] == nil {
		m[key] = new(big.Int)
	}
	m[key].Add(m[key], big.NewInt(n))
}

func overflows(sum *big.Int, n int64) bool {
	return new(big.Int).Add(sum, big.NewInt(n)).Cmp(big.NewInt(math.MaxInt64)) > 0
}

// seen adds id and reports whether it was known.
func (m *recount) seen(id string) bool {
	was := m.current[id] || m.old[id]
	m.current[id] = true
	return was
}

// turn reports whether a generation begins at clock.
func (m *recount) turn(clock int64) (due, full bool) {
	due = m.since > 0 && clock-m.since >= m.cfg.DuplicateWindow.Milliseconds()
	return due, len(m.current) >= m.cfg.MaxIDs/2
}

func (m *recount) rotate(due bool, clock int64) {
	if !due {
		m.early++
	}
	m.old, m.current, m.since = m.current, map[string]bool{}, clock
}

// event folds a valid record of an events topic. It returns the reason if the state rejects it,
// else "".
func (m *recount) event(dc string, copied bool, rec *stream.Record) string {
	e := &eventspb.AdEvent{}
	if err := proto.Unmarshal(rec.Value, e); err != nil {
		panic(err)
	}
	from, offset := "", int64(0)
	if copied {
		var partition int32
		partition, offset, _ = originOf(rec.Headers)
		from = fmt.Sprint(dc, "/", partition)
		if next, ok := m.applied[from]; ok && offset < next {
			m.transportDuplicates[dc]++
			return ""
		}
	}
	ingest := e.IngestMs
	if ingest == 0 {
		ingest = rec.TimeMs
	}
	ingest = min(ingest, rec.TimeMs+2000)
	clock := max(m.clock, ingest)
	beat, id := e.Type == eventspb.EventType_EVENT_TYPE_HEARTBEAT, "e\x00"+e.Account+"\x00"+e.EventId
	if !beat {
		due, full := m.turn(clock)
		known := m.current[id] || m.old[id] && !due && !full
		if !known && overflows(m.total, e.PriceMicros) {
			return ReasonOverflow
		}
		if due || full {
			m.rotate(due, clock)
		}
		if m.since == 0 {
			m.since = clock
		}
	}
	if copied {
		if next, ok := m.applied[from]; ok {
			m.lost[dc] += uint64(offset - next)
		}
		m.applied[from] = offset + 1
	}
	m.clock = clock
	if beat {
		return ""
	}
	m.arrivals = append(m.arrivals, ingest)
	m.charge(dc, e, ingest, m.seen(id))
	return ""
}

func (m *recount) charge(dc string, e *eventspb.AdEvent, ingest int64, duplicate bool) {
	day := e.BudgetDay
	if day == 0 {
		day = int32(events.UTCDay(e.EventMs))
	}
	s := m.at(e.Campaign, e.Account, day, e.Currency)
	s.asOf = max(s.asOf, ingest)
	if duplicate {
		s.duplicates++
		m.duplicates++
		return
	}
	serving := e.ServingDc
	if serving == "" {
		serving = dc
	}
	plus(s.charged, serving, e.PriceMicros)
	if s.count[serving] == nil {
		s.count[serving] = map[eventspb.EventType]uint64{}
	}
	s.count[serving][e.Type]++
	m.count[dc]++
	plus(m.micros, dc, e.PriceMicros)
	m.total.Add(m.total, big.NewInt(e.PriceMicros))
}

// adjustment folds a valid record of the adjustments topic. It returns the reason if the state
// rejects it, else "".
func (m *recount) adjustment(rec *stream.Record) string {
	a := &eventspb.Adjustment{}
	if err := proto.Unmarshal(rec.Value, a); err != nil {
		panic(err)
	}
	id := "a\x00" + a.Account + "\x00" + a.ReferenceId
	due, full := m.turn(m.clock)
	known := m.current[id] || m.old[id] && !due && !full
	if !known && overflows(m.refunded, a.Micros) {
		return ReasonOverflow
	}
	if due || full {
		m.rotate(due, m.clock)
	}
	ingest := a.IngestMs
	if ingest == 0 {
		ingest = rec.TimeMs
	}
	s := m.at(a.Campaign, a.Account, a.BudgetDay, a.Currency)
	s.asOf = max(s.asOf, min(ingest, rec.TimeMs+2000))
	if m.seen(id) {
		s.duplicates++
		m.duplicates++
		return ""
	}
	serving := a.ServingDc
	if serving == "" {
		serving = m.cfg.DC
	}
	plus(s.refunded, serving, a.Micros)
	m.refunded.Add(m.refunded, big.NewInt(a.Micros))
	return ""
}

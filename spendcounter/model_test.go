package spendcounter

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/idset"
	"github.com/weirhq/weir/stream"
)

// recount is a simple implementation of the same count: one record after the other, maps, big
// integers, generated decoders. It does not validate records: the generator marks the records that
// must be rejected.
type recount struct {
	cfg        Config
	spend      map[string]*recountSpend
	width      int64                        // of a bucket
	ids        map[int64]map[string]int64   // prices of ids, by begin of the bucket of their event time
	references map[string]*recountReference // of adjustments
	watermark  map[string]int64             // per origin
	clock      int64
	applied    map[string]int64 // per copied topic and origin partition

	count               map[string]uint64 // charged, per origin
	micros              map[string]*big.Int
	lost                map[string]uint64
	audited             map[string][]audited // per origin, in the order of its records
	transportDuplicates map[string]uint64
	rejectedCopies      map[string]uint64
	late                map[string]uint64
	arrivals            []arrival // of events, with duplicates
	duplicates          uint64
	conflicts           uint64 // by the tags of the prices
	total, refunded     *big.Int
	early               uint64
	overRefunds         uint64
}

// arrival is an event of an origin with its clamped ingest time.
type arrival struct {
	log        *topicLog
	offset, ms int64
}

// recountReference is the first adjustment with a reference, and the number of others.
type recountReference struct {
	*eventspb.Adjustment
	ingest                int64
	duplicates, conflicts uint64
}

type recountSpend struct {
	charged, refunded map[string]*big.Int
	count             map[string]map[eventspb.EventType]uint64
	duplicates        uint64
	asOf              int64
	hours             map[int32]tally
	parts             map[string]tally // by pair, of all pairs
}

func newRecount(cfg Config) *recount {
	width := int64(1)
	for 2*width <= (cfg.DuplicateWindow+cfg.OutOfOrderness).Milliseconds()/4 {
		width *= 2
	}
	return &recount{
		cfg: cfg, spend: map[string]*recountSpend{}, width: width, ids: map[int64]map[string]int64{}, references: map[string]*recountReference{},
		watermark: map[string]int64{}, late: map[string]uint64{},
		applied: map[string]int64{}, count: map[string]uint64{}, micros: map[string]*big.Int{}, lost: map[string]uint64{},
		audited:             map[string][]audited{},
		transportDuplicates: map[string]uint64{}, rejectedCopies: map[string]uint64{}, total: new(big.Int), refunded: new(big.Int),
	}
}

func (m *recount) at(campaign, account string, day int32, currency string) *recountSpend {
	c, err := events.ParseCurrency(currency)
	if err != nil {
		panic(err)
	}
	key := string(AppendKey(nil, []byte(account), []byte(campaign), events.Day(day), c))
	if m.spend[key] == nil {
		m.spend[key] = &recountSpend{
			charged: map[string]*big.Int{}, refunded: map[string]*big.Int{},
			count: map[string]map[eventspb.EventType]uint64{}, hours: map[int32]tally{}, parts: map[string]tally{},
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

func sum(m map[string]*big.Int) *big.Int {
	total := new(big.Int)
	for _, n := range m {
		total.Add(total, n)
	}
	return total
}

func overflows(sum *big.Int, n int64) bool {
	return new(big.Int).Add(sum, big.NewInt(n)).Cmp(big.NewInt(math.MaxInt64)) > 0
}

// lowWatermark returns the smallest of the origins' greatest ingest times.
func (m *recount) lowWatermark() int64 {
	low := m.watermark[ownDC]
	for _, dc := range m.cfg.Inputs.Copied {
		low = min(low, m.watermark[dc])
	}
	return low
}

// inHours reports whether an event at ms of a day has an hour.
func inHours(day int32, ms int64) bool {
	begin, err := time.Parse("20060102", fmt.Sprint(day))
	if err != nil {
		panic(err)
	}
	at := time.UnixMilli(ms)
	return !at.Before(begin.Add(-14*time.Hour)) && at.Before(begin.Add(48*time.Hour))
}

// closeDays adds the closed days to lifetime rows. It is called after all events: when a day was
// closed does not matter.
func (m *recount) closeDays() {
	closed := time.UnixMilli(m.lowWatermark()).Add(-m.cfg.Retention - 36*time.Hour).UTC().Format("20060102")
	for key, s := range m.spend {
		account, campaign, day, currency, err := ParseKey([]byte(key))
		if err != nil {
			panic(err)
		}
		if m.cfg.Retention == 0 || m.lowWatermark() == 0 || day == 0 || fmt.Sprint(int32(day)) > closed {
			continue
		}
		delete(m.spend, key)
		to := m.at(string(campaign), string(account), 0, currency.String())
		to.duplicates, to.asOf = to.duplicates+s.duplicates, max(to.asOf, s.asOf)
		for dc, n := range s.charged {
			plus(to.charged, dc, n.Int64())
		}
		for dc, n := range s.refunded {
			plus(to.refunded, dc, n.Int64())
		}
		for dc, types := range s.count {
			for typ, n := range types {
				if to.count[dc] == nil {
					to.count[dc] = map[eventspb.EventType]uint64{}
				}
				to.count[dc][typ] += n
			}
		}
	}
}

// live returns the buckets that an event of any origin may still need.
func (m *recount) live() map[int64]map[string]int64 {
	low := m.lowWatermark()
	live := map[int64]map[string]int64{}
	for from, ids := range m.ids {
		if from+m.width > low-(m.cfg.DuplicateWindow+m.cfg.OutOfOrderness).Milliseconds() {
			live[from] = ids
		}
	}
	return live
}

// copy passes the position of an origin to a copied record. It reports whether the record arrives
// for the first time.
func (m *recount) copy(dc string, rec *stream.Record) bool {
	o, _ := originOf(rec.Headers)
	from := fmt.Sprint(dc, "/", o.Topic, o.Partition)
	next, known := m.applied[from]
	if known && o.Offset < next {
		m.transportDuplicates[dc]++
		return false
	}
	for at := next; known && at <= o.Previous; at++ {
		m.lost[dc]++
	}
	m.applied[from] = o.Offset + 1
	return true
}

// audited is a record of an origin that was folded, or a rejected one.
type audited struct {
	minute, offset int64 // a rejected record has the minute before it; -1: none
	event          *eventspb.AdEvent
	lost           uint64 // right before it
	rejected       bool
}

func (m *recount) record(dc string, a audited) { m.audited[dc] = append(m.audited[dc], a) }

// minutes returns the minutes of an origin that have ended: all but the newest.
func (m *recount) minutes(dc string) (list []*eventspb.SpendAudit) {
	for _, a := range m.audited[dc] {
		n := len(list) - 1
		if a.minute < 0 {
			continue
		}
		if n < 0 || list[n].MinuteMs < a.minute {
			list = append(list, &eventspb.SpendAudit{Origin: dc, MinuteMs: a.minute, FirstOffset: a.offset, Begins: n < 0})
			n++
		}
		p := list[n]
		p.Lost += a.lost
		if a.rejected {
			p.Rejected++
			continue
		}
		p.NextOffset = a.offset + 1
		if a.event.Type != eventspb.EventType_EVENT_TYPE_HEARTBEAT {
			p.Events, p.Micros = p.Events+1, p.Micros+uint64(a.event.PriceMicros)
			p.Digest += idset.ID(events.EventHash([]byte(a.event.Account), []byte(a.event.EventId)), uint64(a.event.PriceMicros))
		}
	}
	return list[:max(0, len(list)-1)]
}

// minute returns the minute of the greatest ingest time of an origin; -1: nothing was folded.
func (m *recount) minute(dc string) int64 {
	if m.watermark[dc] == 0 {
		return -1
	}
	return m.watermark[dc] / 60_000 * 60_000
}

// reject folds a copied record that is bad in itself. It reports whether the record is rejected.
func (m *recount) reject(l *topicLog, rec *stream.Record) bool {
	lost := m.lost[l.dc]
	if !m.copy(l.dc, rec) {
		return false
	}
	m.rejectedCopies[l.dc]++
	if !l.adjustments {
		m.record(l.dc, audited{minute: m.minute(l.dc), rejected: true, lost: m.lost[l.dc] - lost})
	}
	return true
}

// event folds a valid record of an events topic. It returns the reason if the state rejects it,
// else "".
func (m *recount) event(l *topicLog, rec *stream.Record) string {
	dc, e, lost := l.dc, &eventspb.AdEvent{}, m.lost[l.dc]
	if err := proto.Unmarshal(rec.Value, e); err != nil {
		panic(err)
	}
	if l.copied && !m.copy(dc, rec) {
		return ""
	}
	ingest := e.IngestMs
	if ingest == 0 {
		ingest = rec.TimeMs
	}
	ingest = min(ingest, rec.TimeMs+2000)
	beat, id := e.Type == eventspb.EventType_EVENT_TYPE_HEARTBEAT, e.Account+"\x00"+e.EventId
	at := e.EventMs
	if at == 0 {
		at = ingest
	}
	late := !beat && (at < ingest-m.cfg.DuplicateWindow.Milliseconds() || ingest < m.watermark[dc]-m.cfg.OutOfOrderness.Milliseconds())
	bucket := at - at%m.width
	price, known := m.ids[bucket][id]
	full := len(m.ids[bucket]) >= m.cfg.MaxIDs/2
	known = known && !late && !full
	reason := ""
	if !beat && !known && overflows(m.total, e.PriceMicros) {
		reason = ReasonOverflow
	}
	if late && m.cfg.RejectLate {
		reason = ReasonLate
	}
	if reason != "" {
		if l.copied {
			m.rejectedCopies[dc]++
			m.record(dc, audited{minute: m.minute(dc), rejected: true, lost: m.lost[dc] - lost})
		}
		return reason
	}
	m.clock, m.watermark[dc] = max(m.clock, ingest), max(m.watermark[dc], ingest)
	offset := rec.Offset
	if l.copied {
		o, _ := originOf(rec.Headers)
		offset = o.Offset
	}
	m.record(dc, audited{minute: m.minute(dc), offset: offset, event: e, lost: m.lost[dc] - lost})
	if beat {
		return ""
	}
	m.arrivals = append(m.arrivals, arrival{l, rec.Offset, ingest})
	switch {
	case late:
		m.late[dc]++
	case known && idset.ID(0, uint64(price)) != idset.ID(0, uint64(e.PriceMicros)):
		m.conflicts++
	case full:
		m.early++
		m.ids[bucket] = map[string]int64{id: e.PriceMicros}
	case m.ids[bucket] == nil:
		m.ids[bucket] = map[string]int64{id: e.PriceMicros}
	case !known:
		m.ids[bucket][id] = e.PriceMicros
	}
	m.charge(dc, e, ingest, known)
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
	if at := cmp.Or(e.EventMs, ingest); m.cfg.Hours && inHours(day, at) {
		sum := s.hours[int32(at/hourMs)]
		sum.add(tally{e.PriceMicros, 1})
		s.hours[int32(at/hourMs)] = sum
	}
	if pair := string(appendPairKey(nil, []byte(e.LineItem), []byte(e.Arm))); m.cfg.Parts > 0 && pair != otherPair && len(e.Arm) <= MaxIDBytes {
		sum := s.parts[pair]
		sum.add(tally{e.PriceMicros, 1})
		s.parts[pair] = sum
	}
	m.count[dc]++
	plus(m.micros, dc, e.PriceMicros)
	m.total.Add(m.total, big.NewInt(e.PriceMicros))
}

// adjustment folds a valid record of an adjustments topic. It returns the reason if the state
// rejects it, else "".
func (m *recount) adjustment(dc string, copied bool, rec *stream.Record) string {
	a := &eventspb.Adjustment{}
	if err := proto.Unmarshal(rec.Value, a); err != nil {
		panic(err)
	}
	if copied && !m.copy(dc, rec) {
		return ""
	}
	id := a.Account + "\x00" + a.ReferenceId
	first := m.references[id]
	if first == nil && overflows(m.refunded, a.Micros) {
		if copied {
			m.rejectedCopies[dc]++
		}
		return ReasonOverflow
	}
	ingest := a.IngestMs
	if ingest == 0 {
		ingest = rec.TimeMs
	}
	s := m.at(a.Campaign, a.Account, a.BudgetDay, a.Currency)
	s.asOf = max(s.asOf, min(ingest, rec.TimeMs+2000))
	if first != nil {
		s.duplicates++
		m.duplicates++
		first.duplicates++
		if what := func(a *eventspb.Adjustment) string {
			return fmt.Sprint(a.Micros, a.Campaign, a.BudgetDay, a.Currency, a.ServingDc)
		}; what(a) != what(first.Adjustment) {
			first.conflicts++
			m.conflicts++
		}
		return ""
	}
	m.references[id] = &recountReference{Adjustment: a, ingest: min(ingest, rec.TimeMs+2000)}
	plus(s.refunded, a.ServingDc, a.Micros)
	m.refunded.Add(m.refunded, big.NewInt(a.Micros))
	if m.cfg.Retention == 0 && sum(s.refunded).Cmp(sum(s.charged)) > 0 {
		m.overRefunds++
	}
	return ""
}

package spendcounter

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/dense"
	"github.com/weirhq/weir/stream"
)

// tally is the charges and events of a part of a campaign day: of an hour, or of a line item and
// arm.
type tally struct {
	charged int64
	events  uint64
}

func (t *tally) add(o tally) { t.charged, t.events = t.charged+o.charged, t.events+o.events }

const hourMs = 3_600_000

// The hours of a budget day, relative to its begin in UTC: from its begin at UTC+14, to a day after
// its end in UTC, so that clicks of the next morning have an hour.
const (
	hoursBefore = 14
	hoursOfDay  = hoursBefore + 48
)

// hourOf returns the hour of an event at ms of a budget day, 0 if it is far from the day. So the
// number of hours of a campaign day is bounded, whatever the producers send. A lifetime row has no
// hours.
func (c *Counter) hourOf(day events.Day, ms int64) int32 {
	known := &c.hourRanges[day&1] // the days of most events are two neighbours
	if known.day != day {
		y, m, d := day/10_000, day/100%100, day%100
		begin := time.Date(int(y), time.Month(m), int(d), 0, 0, 0, 0, time.UTC)
		known.day, known.first = day, int32(begin.UnixMilli()/hourMs)-hoursBefore
	}
	hour := int32(ms / hourMs)
	if since := hour - known.first; day == 0 || since < 0 || since >= hoursOfDay {
		return 0
	}
	return hour
}

// hourRange is the first hour of a budget day.
type hourRange struct {
	day   events.Day
	first int32
}

// hours is the spend by hour of the entries of a cache. The newest hour of an entry is kept beside
// it and in its record, because nearly all events are in that hour. Earlier hours are rows of
// TableHours, and are changed by a read and a write at the next flush.
type hours struct {
	on     bool
	newest []newestHour       // by number of the entry; empty if not on
	past   map[pastHour]tally // what to add to rows of TableHours
}

type newestHour struct {
	tally
	hour int32 // 0: none
}

type pastHour struct {
	entry uint32
	hour  int32
}

// add adds s to an hour of entry number n. The order of additions does not matter.
func (h *hours) add(n uint32, hour int32, s tally) {
	if !h.on {
		h.addPast(n, hour, s)
		return
	}
	now := &h.newest[n]
	switch {
	case hour == now.hour:
		now.tally.add(s)
	case hour < now.hour:
		h.addPast(n, hour, s)
	default:
		if now.hour != 0 {
			h.addPast(n, now.hour, now.tally)
		}
		*now = newestHour{s, hour}
	}
}

// prefetch touches the newest hours of entries.
func (h *hours) prefetch(entries []uint32) (x uint64) {
	if !h.on {
		return 0
	}
	for _, n := range entries {
		if n != dense.None {
			x ^= uint64(h.newest[n].hour)
		}
	}
	return x
}

func (h *hours) addPast(n uint32, hour int32, s tally) {
	if h.past == nil {
		h.past = map[pastHour]tally{}
	}
	sum := h.past[pastHour{n, hour}]
	sum.add(s)
	h.past[pastHour{n, hour}] = sum
}

// addHours adds the hours of a record to entry number n.
func (c *Counter) addHours(n uint32, m *eventspb.Spend) error {
	for _, h := range m.Hours {
		s := tally{h.ChargedMicros, h.Events}
		if h.Hour <= 0 || s.charged < 0 || s.charged > c.micros {
			return fmt.Errorf("hour %d has %d micros, more than its shard, or is not a valid hour", h.Hour, s.charged)
		}
		c.cache.hours.add(n, h.Hour, s)
	}
	return nil
}

// appendHours appends the newest hour of entry number n as field 15 of an eventspb.Spend.
func (c *Counter) appendHours(dst []byte, n uint32) []byte {
	h := &c.cache.hours.newest[n]
	if h.hour == 0 {
		return dst
	}
	return protowire.AppendBytes(appendTag(dst, 15, protowire.BytesType), c.appendHour(h.hour, h.tally))
}

// appendHour encodes an eventspb.HourSpend in scratch memory.
func (c *Counter) appendHour(hour int32, s tally) []byte {
	c.scratch.sub = appendVarint(c.scratch.sub[:0], 1, uint64(hour))
	c.scratch.sub = appendVarint(c.scratch.sub, 2, uint64(s.charged))
	c.scratch.sub = appendVarint(c.scratch.sub, 3, s.events)
	return c.scratch.sub
}

// flushHours adds to the rows of earlier hours. A campaign day needs that once an hour, and for
// events that are late for their hour.
func (c *Counter) flushHours(at asOf, ch *stream.Changes) error {
	past := c.cache.hours.past
	order := func(a, b pastHour) int { return cmp.Or(cmp.Compare(a.entry, b.entry), cmp.Compare(a.hour, b.hour)) }
	for _, p := range slices.SortedFunc(maps.Keys(past), order) {
		spendKey := c.cache.key(&c.cache.list[p.entry])
		c.scratch.key = appendHourKey(c.scratch.key[:0], spendKey, p.hour)
		sum := past[p]
		value, err := c.task.Get(TableHours, c.scratch.key)
		if err == nil && value != nil {
			m := &eventspb.SpendHour{}
			if err = proto.Unmarshal(value, m); err == nil && m.Hour.GetHour() != p.hour {
				err = fmt.Errorf("the value is of hour %d: rebuild the store from its changelog", m.Hour.GetHour())
			}
			sum.add(tally{m.Hour.GetChargedMicros(), m.Hour.GetEvents()})
		}
		if err != nil {
			return fmt.Errorf("spend counter, partition %d: read hour %q: %w", c.task.Partition, c.scratch.key, err)
		}
		dst := appendSpendKey(c.scratch.value[:0], spendKey)
		dst = protowire.AppendBytes(appendTag(dst, 5, protowire.BytesType), c.appendHour(p.hour, sum))
		c.scratch.value = c.appendOrder(at.append(dst), spendKey, at)
		ch.Put(TableHours, c.scratch.key, c.scratch.value)
	}
	if len(past) > 0 {
		c.cache.hours.past = nil // they come in bursts, at the full hour
	}
	return nil
}

// hourTail is the size of the hour, which follows the spend key in a key of TableHours.
const hourTail = 4

func appendHourKey(dst, spendKey []byte, hour int32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, spendKey...), uint32(hour))
}

// ParseHourKey splits a key of TableHours: a spend key, and an hour since 1970 in 4 bytes. The
// hours of a campaign day are the keys that begin with its spend key.
func ParseHourKey(key []byte) (spendKey []byte, hour int32, err error) {
	if len(key) > hourTail {
		spendKey = key[:len(key)-hourTail]
		if _, _, _, _, err := ParseKey(spendKey); err == nil {
			return spendKey, int32(binary.BigEndian.Uint32(key[len(spendKey):])), nil
		}
	}
	return nil, 0, fmt.Errorf("hour key %q: the key is not a spend key and an hour: does it belong to another table?", key)
}

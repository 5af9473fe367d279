package spendcounter

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// TestHourBounds: the hours of a budget day begin with the day at UTC+14, whatever the day, and end
// a day after its end in UTC.
func TestHourBounds(t *testing.T) {
	c := mustNew(t, Config{Hours: true}, newStore())
	for _, day := range []events.Day{20231114, 20240229, 19700101, 99991231, 20231115, 20231231} {
		begin, err := time.Parse("20060102", day.String()[:4]+day.String()[5:7]+day.String()[8:])
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []struct {
			since time.Duration
			in    bool
		}{
			{-14*time.Hour - time.Millisecond, false},
			{-14 * time.Hour, true},
			{30 * time.Hour, true},
			{48*time.Hour - time.Millisecond, true},
			{48 * time.Hour, false},
		} {
			at := begin.Add(x.since).UnixMilli()
			if at < hourMs { // no event is so old
				continue
			}
			want := int32(0)
			if x.in {
				want = int32(at / hourMs)
			}
			if got := c.hourOf(day, at); got != want {
				t.Errorf("%v, %v after its begin: hour %d, want %d", day, x.since, got, want)
			}
		}
	}
	if c.hourOf(lifetimeDay, epochMs) != 0 {
		t.Error("a lifetime row has an hour")
	}
}

// TestHoursOutliveTheSetting: a counter without hours loses none of those that were counted, and
// with hours again it adds to them.
func TestHoursOutliveTheSetting(t *testing.T) {
	r := newRetained(t)
	at := time.Date(2023, 11, 14, 9, 30, 0, 0, time.UTC)
	hour := int32(at.UnixMilli() / hourMs)
	r.event("c", 20231114, at)
	r.event("c", 20231114, at.Add(time.Hour))
	r.flush()
	for _, hours := range []bool{false, true} {
		r.cfg.Hours = hours
		r.c = mustNew(t, r.cfg, r.s)
		r.event("c", 20231114, at.Add(time.Hour+time.Minute))
		r.flush()
	}
	got := map[int32]int64{}
	for _, p := range r.s.spends(t) {
		for _, h := range p.Hours {
			got[h.Hour] += h.ChargedMicros
		}
	}
	for _, value := range r.s.tables[TableHours] {
		p := &eventspb.SpendHour{}
		if err := proto.Unmarshal(value, p); err != nil {
			t.Fatal(err)
		}
		got[p.Hour.Hour] += p.Hour.ChargedMicros
	}
	if len(got) != 2 || got[hour] != 10 || got[hour+1] != 20 { // the second event was counted without hours
		t.Fatalf("hours %v", got)
	}
}

// FuzzParseHourKey: a key that is accepted is what its parts make.
func FuzzParseHourKey(f *testing.F) {
	f.Add(appendHourKey(nil, AppendKey(nil, []byte("a"), []byte("c"), 20231114, 'U'<<16|'S'<<8|'D'), 472_000))
	f.Add([]byte("a\x00c\x00"))
	f.Fuzz(func(t *testing.T, key []byte) {
		spendKey, hour, err := ParseHourKey(key)
		if err == nil && string(appendHourKey(nil, spendKey, hour)) != string(key) {
			t.Fatalf("%q is %q and hour %d", key, spendKey, hour)
		}
	})
}

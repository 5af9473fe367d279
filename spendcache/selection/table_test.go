package selection

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
)

// at is the newest ingest time of the datasets under test, in Unix ms.
const at = int64(1_700_000_000_000)

// dataset returns a dataset of writer whose newest event of each origin is lag old. It has counted
// count events of each.
func dataset(writer string, lag time.Duration, count uint64, origins ...string) Dataset {
	h := &eventspb.SpendHistogram{WriterDc: writer}
	for _, dc := range origins {
		h.Origins = append(h.Origins, &eventspb.OriginHealth{Dc: dc, WatermarkMs: at - lag.Milliseconds(), Count_60S: count, CumulativeCount: count})
	}
	return Dataset{Health: h}
}

func newSelector(t testing.TB, cfg Config) *Selector {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func best(t testing.TB, cfg Config, datasets ...Dataset) string {
	t.Helper()
	s := newSelector(t, cfg)
	shard := s.assess(datasets)
	return s.name(shard.Best)
}

// seedChoice is the seed's table. x is the local time less the remote time, and the counts are
// those of 60 s. It is written from the table, without the terms of this package.
func seedChoice(x time.Duration, local, remote uint64) string {
	const ts = 5 * time.Second
	most := max(local, remote)
	y := 100 * (float64(local) - float64(remote)) / float64(most)
	// Rule R: a lag of x seconds misses x / 60 of the window, and all of it from 60 s on; a deficit
	// of y % misses y %.
	ruleR := func(more, less string) string {
		if abs := max(x, -x); max(y, -y)/100 >= min(1, abs.Seconds()/60) {
			return more
		}
		return less
	}
	switch {
	case x >= ts && y <= -5:
		return ruleR("remote", "local")
	case x >= ts:
		return "local"
	case x > -ts && y <= -5:
		return "remote"
	case x > -ts:
		return "local"
	case y < 5:
		return "remote"
	}
	return ruleR("local", "remote")
}

// TestTable compares two datasets in each cell of the seed's table, on the borders between cells
// and on the border of rule R.
func TestTable(t *testing.T) {
	cfg, seen := Config{Local: "local", Ring: []string{"remote", "local"}, Deficit: 0.05}, map[string]int{}
	for _, x := range []int{0, 1, 4999, 5000, 5001, 6000, 29_999, 30_000, 30_001, 60_000, 90_000} {
		for _, less := range []uint64{100_000, 99_999, 95_001, 95_000, 94_999, 90_001, 90_000, 89_999, 50_001, 50_000, 49_999, 1, 0} {
			for _, sign := range []int{1, -1} {
				for _, counts := range [][2]uint64{{100_000, less}, {less, 100_000}} {
					x := time.Duration(sign*x) * time.Millisecond
					l, r := dataset("local", max(0, -x), counts[0], "local"), dataset("remote", max(0, x), counts[1], "local")
					want := seedChoice(x, counts[0], counts[1])
					if got := best(t, cfg, l, r); got != want {
						t.Errorf("x = %v, counts %v: %s, want %s", x, counts, got, want)
					}
					seen[want]++
				}
			}
		}
	}
	if seen["local"] < 100 || seen["remote"] < 100 {
		t.Errorf("choices %v: the cases are not balanced", seen)
	}
}

// TestSymmetric: the result depends neither on the order of the datasets nor on their names. The
// ring decides between equal ones.
func TestSymmetric(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	ring := []string{"eu", "us", "ap", "sa"}
	for range 20_000 {
		cfg := Config{Local: ring[rng.IntN(4)], Ring: ring, MinEvents: 1 + uint64(rng.IntN(2))*300}
		var list []Dataset
		for _, dc := range ring {
			h := &eventspb.SpendHistogram{WriterDc: dc}
			for _, o := range ring {
				lag := int64(rng.IntN(3)) * int64(rng.IntN(8000))
				h.Origins = append(h.Origins, &eventspb.OriginHealth{Dc: o, WatermarkMs: at - lag, Count_60S: uint64(90 + rng.IntN(20)), CumulativeCount: uint64(90 + rng.IntN(20)), Lost: uint64(rng.IntN(2))})
			}
			list = append(list, Dataset{Health: h, Age: time.Duration(rng.IntN(40)) * time.Second})
		}
		s := newSelector(t, cfg)
		want := s.assess(list)
		mixed := make([]Dataset, len(list))
		for i, j := range rng.Perm(len(list)) {
			mixed[i] = Dataset{proto.CloneOf(list[j].Health), list[j].Age}
			rng.Shuffle(len(mixed[i].Health.Origins), func(a, b int) {
				o := mixed[i].Health.Origins
				o[a], o[b] = o[b], o[a]
			})
		}
		if got := s.assess(mixed); !reflect.DeepEqual(got, want) {
			t.Fatalf("in another order: %+v, want %+v", got, want)
		}
		if want.Best < 0 {
			continue
		}
		chosen := want.Datasets[want.Best]
		for i, a := range want.Datasets {
			switch {
			case !chosen.Candidate, a.Healthy() && !chosen.Healthy(), a.Healthy() && i < want.Best:
				t.Fatalf("%s was chosen, with %+v beside it: %+v", chosen.DC, a, want)
			case a.Candidate && !chosen.Healthy() && a.Misses() < chosen.Misses():
				t.Fatalf("%s misses more than %s: %+v", chosen.DC, a.DC, want)
			}
		}
	}
}

// TestEnvelope: datasets are compared with the best of all. In pairs, eu would be equal to us and
// us to ap, so that eu stayed although it lacks 8 %.
func TestEnvelope(t *testing.T) {
	cfg := Config{Local: "eu", Ring: []string{"eu", "us", "ap"}, Deficit: 0.05}
	if got := best(t, cfg, dataset("eu", 0, 92_000, "eu"), dataset("us", 0, 96_000, "eu"), dataset("ap", 0, 100_000, "eu")); got != "us" {
		t.Errorf("chose %s", got)
	}
}

// TestDeadOrigin: a dataset whose events of one origin stopped is not fresh, however new the others
// are.
func TestDeadOrigin(t *testing.T) {
	cfg := Config{Local: "eu", Ring: []string{"eu", "us", "ap"}}
	eu, us := dataset("eu", 0, 1000, "eu", "us", "ap"), dataset("us", 2*time.Second, 1000, "eu", "us", "ap")
	eu.Health.TimestampMs, us.Health.TimestampMs = at, at-2000
	if got := best(t, cfg, eu, us); got != "eu" {
		t.Errorf("before: chose %s", got)
	}
	eu.Health.Origins[2].WatermarkMs = at - 7001
	if got := best(t, cfg, eu, us); got != "us" {
		t.Errorf("without the events of ap: chose %s", got)
	}
	us.Health.Origins[2].WatermarkMs = at - 7001 // ap itself is down: no dataset hears of it
	if got := best(t, cfg, eu, us); got != "eu" {
		t.Errorf("while ap is down: chose %s", got)
	}
}

// TestRing: a datacentre that was added or removed, while not all counters have its configuration.
func TestRing(t *testing.T) {
	old, grown := []string{"eu", "us"}, []string{"eu", "us", "ap"}
	eu, us := dataset("eu", 0, 1000, "eu", "us"), dataset("us", 0, 1000, "eu", "us", "ap")
	if got := best(t, Config{Local: "eu", Ring: old}, eu, us); got != "eu" {
		t.Errorf("a reader that does not know ap: chose %s", got)
	}
	s := newSelector(t, Config{Local: "eu", Ring: grown})
	d := s.Decide(time.Unix(0, 0), []Dataset{eu, us})
	if d.DC != "us" || d.Reason != "eu has no event of ap" {
		t.Errorf("a reader that knows ap: chose %s: %s", d.DC, d.Reason)
	}
	us.Health.Origins[2].WatermarkMs = at - time.Hour.Milliseconds() // ap was removed
	if got := best(t, Config{Local: "eu", Ring: old}, eu, us); got != "eu" {
		t.Errorf("after ap was removed: chose %s", got)
	}
}

// TestMissesLeast: of two datasets that each lack the events of an origin, that with the smaller
// origin misses less, also if it has lacked them for longer.
func TestMissesLeast(t *testing.T) {
	cfg := Config{Local: "us", Ring: []string{"eu", "us", "ap"}}
	for _, missing := range []time.Duration{20 * time.Second, 100 * time.Second, 48 * time.Hour} {
		eu, us := dataset("eu", 0, 1000, "eu", "us", "ap"), dataset("us", 0, 1000, "eu", "us", "ap")
		for _, d := range []Dataset{eu, us} {
			d.Health.Origins[0].Count_60S, d.Health.Origins[1].Count_60S, d.Health.Origins[2].Count_60S = 600, 380, 20
		}
		stop := func(d Dataset, origin int, ago time.Duration) {
			o := d.Health.Origins[origin]
			o.WatermarkMs -= ago.Milliseconds()
			o.Count_60S = uint64(float64(o.Count_60S) * max(0, 1-ago.Seconds()/60))
		}
		stop(eu, 2, missing)
		stop(us, 0, missing/2)
		if got := best(t, cfg, eu, us); got != "eu" {
			t.Errorf("%v: chose %s", missing, got)
		}
	}
}

// TestClocks: each origin's ingest times are compared with those of the same origin only. The clock
// of ap is an hour fast.
func TestClocks(t *testing.T) {
	cfg := Config{Local: "eu", Ring: []string{"eu", "us", "ap"}}
	fast := time.Hour.Milliseconds()
	eu, ap := dataset("eu", 0, 1000, "eu", "us", "ap"), dataset("ap", time.Second, 1000, "eu", "us", "ap")
	for _, d := range []Dataset{eu, ap} {
		d.Health.Origins[2].WatermarkMs += fast
		d.Health.TimestampMs = at
	}
	ap.Health.TimestampMs, ap.Health.WrittenAtMs = at+fast, at+fast
	if got := best(t, cfg, eu, ap); got != "eu" {
		t.Errorf("chose %s", got)
	}
	eu.Health.Origins[1].WatermarkMs -= 6500
	if got := best(t, cfg, eu, ap); got != "ap" {
		t.Errorf("while eu lags: chose %s", got)
	}
}

// TestFewEvents: below MinEvents the counts differ by chance. Lost records decide with few events
// and with many.
func TestFewEvents(t *testing.T) {
	cfg := Config{Local: "eu", Ring: []string{"eu", "us"}}
	eu, us := dataset("eu", 0, 50, "eu", "us"), dataset("us", 0, 99, "eu", "us")
	if got := best(t, cfg, eu, us); got != "eu" {
		t.Errorf("198 events: chose %s", got)
	}
	eu.Health.Origins[1].Lost = 1
	s := newSelector(t, cfg)
	if d := s.Decide(time.Unix(0, 0), []Dataset{eu, us}); d.DC != "us" || d.Reason != "eu has lost 1 records, and us 0" || !d.Shard.Few {
		t.Errorf("with a lost record: %s: %s", d.DC, d.Reason)
	}
	// A dataset that lags has not noticed what it lost.
	us.Health.Origins[0].WatermarkMs -= 5000
	if got := best(t, cfg, eu, us); got != "eu" {
		t.Errorf("against a dataset that lags: chose %s", got)
	}
	us.Health.Origins[0].WatermarkMs += 5000
	us.Health.Origins[0].Count_60S = 101
	eu.Health.Origins[0].Count_60S = 151
	if got := best(t, cfg, eu, us); got != "us" {
		t.Errorf("201 events, with a lost record: chose %s", got)
	}
	eu.Health.Origins[1].Lost = 0
	us.Health.Origins[0].Count_60S = 90
	if got := best(t, cfg, us, eu); got != "eu" {
		t.Errorf("201 events: chose %s", got)
	}
	eu.Health.Origins[0].Count_60S, us.Health.Origins[0].Count_60S = 90, 151
	if got := best(t, cfg, eu, us); got != "us" {
		t.Errorf("of 250 events 140: chose %s", got)
	}
}

// TestLossless: a dataset that has lost records yields to a healthy one that has lost fewer and has
// as many events, and not to one whose state began later or that lacks events now.
func TestLossless(t *testing.T) {
	cfg := Config{Local: "eu", Ring: []string{"eu", "us", "ap"}}
	of := func(dc string, total, lost uint64) Dataset {
		d := dataset(dc, 0, 1000, "eu", "us")
		d.Health.Origins[0].CumulativeCount, d.Health.Origins[1].Lost = total, lost
		return d
	}
	for _, tc := range []struct {
		name       string
		eu, us, ap Dataset
		want       string
	}{
		{"nothing is lost", of("eu", 900_000, 0), of("us", 900_000, 0), of("ap", 900_000, 0), "eu"},
		{"eu has lost one", of("eu", 899_999, 1), of("us", 900_000, 0), of("ap", 900_000, 0), "us"},
		{"us has lost fewer", of("eu", 899_995, 5), of("us", 899_997, 3), of("ap", 899_990, 9), "us"},
		{"the state of ap is new", of("eu", 899_999, 1), of("us", 899_998, 2), of("ap", 400_000, 0), "eu"},
		{"us is some events behind", of("eu", 900_000, 1), of("us", 899_930, 0), of("ap", 400_000, 0), "us"},
	} {
		if got := best(t, cfg, tc.eu, tc.us, tc.ap); got != tc.want {
			t.Errorf("%s: chose %s, want %s", tc.name, got, tc.want)
		}
	}
	us := of("us", 899_800, 0)
	us.Health.Origins[0].Count_60S = 800 // of 1,000
	if got := best(t, cfg, of("eu", 899_999, 1), us, of("ap", 400_000, 0)); got != "eu" {
		t.Errorf("us lacks events now: chose %s", got)
	}
}

// TestFallingTraffic: a dataset that is some seconds behind has more events in its last 60 s than
// the newest one, if traffic falls. The newest one lacks none of them.
func TestFallingTraffic(t *testing.T) {
	cfg := Config{Local: "eu", Ring: []string{"eu", "us"}}
	eu, us := dataset("eu", 0, 880, "eu", "us"), dataset("us", 2*time.Second, 1000, "eu", "us")
	for i := range eu.Health.Origins {
		eu.Health.Origins[i].CumulativeCount, us.Health.Origins[i].CumulativeCount = 900_000, 900_000
	}
	if got := best(t, cfg, eu, us); got != "eu" {
		t.Errorf("eu has as many events of all time: chose %s", got)
	}
	eu.Health.Origins[0].CumulativeCount = 899_999
	if got := best(t, cfg, eu, us); got != "us" {
		t.Errorf("eu lacks one event of all time, and 12 %% of the last: chose %s", got)
	}
}

// TestTwoRecords: of two records of one datacentre the newer one counts: by the order of records,
// and by age where that is the same.
func TestTwoRecords(t *testing.T) {
	cfg := Config{Local: "eu", Ring: []string{"eu", "us"}}
	old, now, us := dataset("eu", 9*time.Second, 1000, "eu"), dataset("eu", 0, 1000, "eu"), dataset("us", 0, 1000, "eu")
	old.Age = 9 * time.Second
	for _, list := range [][]Dataset{{old, now, us}, {us, now, old}, {{}, now, old, dataset("xx", 0, 9999, "eu"), us}} {
		if got := best(t, cfg, list...); got != "eu" {
			t.Errorf("chose %s", got)
		}
	}
	old.Health.Sequence, now.Health.Sequence = 7, 8 // two topics have the records, and that of old is late
	for _, age := range []time.Duration{0, time.Second} {
		old.Age, now.Age = 0, age
		for _, list := range [][]Dataset{{old, now, us}, {us, now, old}} {
			if got := best(t, cfg, list...); got != "eu" {
				t.Errorf("age %v: chose %s", age, got)
			}
		}
	}
}

func TestConfig(t *testing.T) {
	ring := []string{"eu", "us"}
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{Local: "eu", Ring: ring}, ""},
		{Config{Local: "eu", Ring: ring[:1]}, ""},
		{Config{Ring: ring}, `own datacentre ""`},
		{Config{Local: "ap", Ring: ring}, `own datacentre "ap"`},
		{Config{Local: "eu", Ring: []string{"eu", "us", "eu"}}, "twice"},
		{Config{Local: "eu", Ring: ring, Lag: -1}, "not negative"},
		{Config{Local: "eu", Ring: ring, Deficit: 1}, "less than 1"},
		{Config{Local: "eu", Ring: ring, LeaveAfter: -1}, "not negative"},
		{Config{Local: "eu", Ring: ring, Lag: time.Minute}, "do not ascend"},
		{Config{Local: "eu", Ring: ring, Unusable: time.Second}, "do not ascend"},
	} {
		_, err := New(c.cfg)
		if got := fmt.Sprint(err); (err == nil) != (c.want == "") || !strings.Contains(got, c.want) && c.want != "" {
			t.Errorf("%+v: error %v, want %q", c.cfg, err, c.want)
		}
	}
	s := newSelector(t, Config{Local: "us", Ring: []string{"eu", "us", "ap"}})
	if want := []string{"us", "ap", "eu"}; !slices.Equal(s.order, want) {
		t.Errorf("order %v, want %v", s.order, want)
	}
}

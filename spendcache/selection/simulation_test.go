package selection

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
)

// simulation has one shard's datasets, each of the events of all datacentres. Time is in steps of a
// second. Events arrive at a rate in each origin, and a dataset has them after a delay that changes
// at random, with a mean of meanDelay. A reader of the first datacentre evaluates once a second.
// The health records of the others reach it after a delay of the same kind.
type simulation struct {
	rng   *rand.Rand
	names []string
	rate  float64 // events per second and origin
	sel   *Selector
	now   int       // seconds
	count [][][]int // by dataset and origin: events so far by second of ingest, of those that it gets
	flow  [][]*flow // by dataset and origin
	push  []*delay  // by dataset: of its health records
	sent  [][]Dataset
	seen  []int // by dataset: second in which the newest record that arrived was written

	gone    [][][]int   // the same of those that it never gets
	clicks  [][]int     // by dataset: clicks of one campaign in the first datacentre so far, by second, of those that it gets
	spent   [][]int     // by dataset: the clicks that each record of sent describes
	click   bool        // in the next second there is one click
	lost    [][]float64 // by dataset and origin: part of the events that it never gets
	stalled [][]bool    // by dataset and origin: no event arrives
	dead    []bool      // by dataset: its counter writes nothing

	// speed is the number of seconds of events that a counter folds in a second, after a delay.
	speed float64
	// unnoticed: the counters do not know how many events they never get.
	unnoticed bool
	// processing counts events by the time at which they were folded, and not the events of all
	// time, as the seed does.
	processing bool
}

const meanDelay = 1.0

// delay is a time in seconds whose distribution is exponential with a mean of meanDelay. Values of
// one second and the next are alike: the EAR(1) process with a correlation of one half.
type delay struct{ is float64 }

func (d *delay) next(rng *rand.Rand) float64 {
	d.is /= 2
	if rng.IntN(2) == 0 {
		d.is += rng.ExpFloat64() * meanDelay
	}
	return d.is
}

// flow is the way of the events of one origin to one dataset.
type flow struct {
	delay delay
	upTo  float64 // seconds: the watermark
}

func newSimulation(seed uint64, rate float64, names ...string) *simulation {
	sel, err := New(Config{Local: names[0], Ring: names})
	if err != nil {
		panic(err)
	}
	w := &simulation{rng: rand.New(rand.NewPCG(seed, 7)), names: names, rate: rate, sel: sel, dead: make([]bool, len(names)), sent: make([][]Dataset, len(names)), seen: make([]int, len(names)), speed: math.Inf(1)}
	for range names {
		var flows []*flow
		var counts, gone [][]int
		for range names {
			flows, counts, gone = append(flows, &flow{}), append(counts, []int{0}), append(gone, []int{0})
		}
		w.flow, w.count, w.push = append(w.flow, flows), append(w.count, counts), append(w.push, &delay{})
		w.gone, w.clicks, w.spent = append(w.gone, gone), append(w.clicks, []int{0}), append(w.spent, nil)
		w.lost, w.stalled = append(w.lost, make([]float64, len(names))), append(w.stalled, make([]bool, len(names)))
	}
	for range 120 { // windows are full, and a choice is made
		w.step()
	}
	return w
}

// poisson returns a number of events with a mean, by its normal approximation.
func (w *simulation) poisson(mean float64) int {
	return max(0, int(math.Round(mean+math.Sqrt(mean)*w.rng.NormFloat64())))
}

// step advances by one second and returns the decision.
func (w *simulation) step() Decision {
	w.now++
	for o := range w.names {
		n := w.poisson(w.rate)
		for d := range w.names {
			c, missed := w.count[d][o], 0
			if p := w.lost[d][o]; p > 0 {
				missed = min(n, w.poisson(float64(n)*p))
			}
			w.count[d][o] = append(c, c[len(c)-1]+n-missed)
			w.gone[d][o] = append(w.gone[d][o], w.gone[d][o][len(c)-1]+missed)
		}
	}
	for d, c := range w.clicks {
		n := c[len(c)-1]
		if w.click && w.rng.Float64() >= w.lost[d][0] {
			n++
		}
		w.clicks[d] = append(c, n)
	}
	var list []Dataset
	for d := range w.names {
		w.fold(d)
		arrived := w.now
		if d > 0 {
			arrived -= int(math.Ceil(w.push[d].next(w.rng)))
		}
		w.seen[d] = min(max(w.seen[d], arrived), len(w.sent[d]))
		if w.seen[d] > 0 {
			x := w.sent[d][w.seen[d]-1]
			if w.processing {
				x.Health = proto.CloneOf(x.Health)
				for _, o := range x.Health.Origins {
					o.CumulativeCount = o.Count_60S
				}
			}
			x.Age = time.Duration(w.now-int(x.Health.WrittenAtMs/1000)) * time.Second
			list = append(list, x)
		}
	}
	return w.sel.Decide(time.Unix(int64(w.now), 0), list)
}

// fold advances a dataset, and adds its health record.
func (w *simulation) fold(d int) {
	sent := w.sent[d]
	if w.dead[d] {
		w.sent[d], w.spent[d] = append(sent, sent[len(sent)-1]), append(w.spent[d], w.spent[d][len(sent)-1])
		return
	}
	h := &eventspb.SpendHistogram{WriterDc: w.names[d], WrittenAtMs: int64(w.now) * 1000}
	newest := 0.0
	for o, f := range w.flow[d] {
		mean := f.delay.next(w.rng)
		if o == d {
			mean /= 10 // its own events are not copied
		}
		if !w.stalled[d][o] {
			f.upTo = max(f.upTo, min(float64(w.now)-mean, f.upTo+w.speed))
		}
		newest = max(newest, f.upTo)
	}
	for o, f := range w.flow[d] {
		before := int64(0)
		if len(sent) > 0 {
			before = int64(sent[len(sent)-1].Health.Origins[o].CumulativeCount)
		}
		total := until(w.count[d][o], f.upTo)
		x := &eventspb.OriginHealth{
			Dc: w.names[o], WatermarkMs: int64(f.upTo * 1000), CumulativeCount: uint64(max(before, int64(total))),
			Count_60S: uint64(max(0, total-until(w.count[d][o], newest-60))),
		}
		if !w.unnoticed {
			x.Lost = uint64(until(w.gone[d][o], f.upTo))
		}
		if w.processing {
			x.Count_60S = x.CumulativeCount
			if len(sent) >= 60 {
				x.Count_60S -= sent[len(sent)-60].Health.Origins[o].CumulativeCount
			}
		}
		h.Origins = append(h.Origins, x)
	}
	w.sent[d], w.spent[d] = append(sent, Dataset{Health: h}), append(w.spent[d], int(until(w.clicks[d], w.flow[d][0].upTo)))
}

// until returns how many events there were before a time, of counts by second.
func until(c []int, at float64) float64 {
	if at <= 0 {
		return 0
	}
	whole := int(at)
	if whole+1 >= len(c) {
		return float64(c[len(c)-1])
	}
	return float64(c[whole]) + (at-float64(whole))*float64(c[whole+1]-c[whole])
}

// clicksIn returns the clicks that the newest record of a dataset has that has arrived.
func (w *simulation) clicksIn(dc string) int {
	d := slices.Index(w.names, dc)
	return w.spent[d][w.seen[d]-1]
}

// behind returns the seconds by which the counter of a dataset is behind, in the origin in which it
// is most.
func (w *simulation) behind(dc string) (most float64) {
	for _, f := range w.flow[slices.Index(w.names, dc)] {
		most = max(most, float64(w.now)-f.upTo)
	}
	return most
}

// all sets a value for all origins of a dataset.
func all[T any](list []T, v T) {
	for i := range list {
		list[i] = v
	}
}

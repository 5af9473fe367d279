package backtest

import (
	"math"
	"slices"
	"time"

	"github.com/weirhq/weir/balancer/forecast"
	"github.com/weirhq/weir/balancer/plan"
)

// simulation is the state of one run.
type simulation struct {
	cfg    Config
	curves []Curve
	free   []int
	coming []int
	idle   []int   // ended leases that the liberator has not released
	ends   [][]int // leases that end, by second of the ring
	lands  [][]int // resources that arrive, by second of the ring
	soon   []int   // leases that end within the horizon
	hourly bool
	res    *Result
}

func newSimulation(curves []Curve, cfg Config, seconds int) *simulation {
	n := len(curves)
	w := &simulation{
		cfg: cfg, curves: curves, free: make([]int, n), coming: make([]int, n), idle: make([]int, n), soon: make([]int, n),
		ends: make([][]int, n), lands: make([][]int, n),
	}
	each := time.Duration(max(1, (seconds+cfg.Points-1)/cfg.Points)) * time.Second
	w.res = &Result{PointInterval: each, Points: make([][]Point, n)}
	means, sum := make([]float64, n), 0.0
	for r := range curves {
		w.ends[r], w.lands[r] = make([]int, ring), make([]int, ring)
		w.res.Points[r] = make([]Point, (seconds+int(each.Seconds())-1)/int(each.Seconds()))
		for i := range w.res.Points[r] {
			w.res.Points[r][i].Free = math.MaxInt
		}
		for _, x := range curves[r].Rate {
			means[r] += x
		}
		sum += means[r]
	}
	if w.res.Stock = cfg.Resources; w.res.Stock == 0 {
		w.res.Stock = int(math.Ceil(cfg.Stock * MostLeased(curves)))
	}
	left := w.res.Stock
	for r := range curves {
		w.free[r] = int(float64(w.res.Stock) * means[r] / max(sum, 1e-9))
		left -= w.free[r]
	}
	w.free[0] += left
	return w
}

func (w *simulation) point(r, t int) *Point {
	return &w.res.Points[r][t/int(w.res.PointInterval.Seconds())]
}

func (w *simulation) judged(t int) bool { return t >= int(w.cfg.WarmUp.Seconds()) }

// pass advances a region by a second: leases end and transfers arrive.
func (w *simulation) pass(r, t int) {
	ended := w.ends[r][t%ring]
	w.ends[r][t%ring] = 0
	w.soon[r] += w.ends[r][(t+int(forecast.DefaultHorizon.Seconds()))%ring] - ended
	if w.idle[r] += ended; !w.hourly || t%3600 == 0 {
		w.free[r] += w.idle[r]
		w.idle[r] = 0
	}
	landed := w.lands[r][t%ring]
	w.lands[r][t%ring] = 0
	w.free[r] += landed
	w.coming[r] -= landed
	w.point(r, t).MovedIn += landed
}

// lease leases resources to n keys, or refuses them.
func (w *simulation) lease(r, t, n int, hold *draws) {
	p := w.point(r, t)
	if w.judged(t) {
		w.res.Wanted += n
	}
	for range n {
		end := t + shortest + hold.below(longest-shortest)
		if w.free[r] == 0 {
			if p.Refused++; w.judged(t) {
				w.res.Refused++
			}
			continue
		}
		w.free[r]--
		w.ends[r][end%ring]++
	}
	p.Free = min(p.Free, w.free[r])
}

// carry starts transfers.
func (w *simulation) carry(t int, moves []plan.Move) {
	index := func(name string) int {
		return slices.IndexFunc(w.curves, func(c Curve) bool { return c.Region == name })
	}
	for _, m := range moves {
		from, to := index(m.From), index(m.To)
		n := min(int(m.Count), w.free[from])
		w.free[from] -= n
		w.coming[to] += n
		w.lands[to][(t+int(w.cfg.Delay.Seconds()))%ring] += n
		w.point(from, t).MovedOut += n
		if w.judged(t) {
			w.res.Moved += n
		}
		m.Count = int64(n)
		w.res.Moves = append(w.res.Moves, StartedMove{t, m})
	}
}

// planned returns how many resources moves take from a region.
func (w *simulation) planned(moves []plan.Move, from int) (n int) {
	for _, m := range moves {
		if m.From == w.curves[from].Region {
			n += int(m.Count)
		}
	}
	return n
}

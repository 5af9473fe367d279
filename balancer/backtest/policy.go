package backtest

import (
	"github.com/weirhq/weir/balancer/forecast"
	"github.com/weirhq/weir/balancer/plan"
)

// policy decides in each second what moves. It has the information of a balancer.
type policy interface {
	// arrived reports the keys that asked for a lease in a second, refused ones included.
	arrived(second int, n []int)
	moves(second int, w *simulation) []plan.Move
}

// proportional is the policy of "Global Real-Time Resource Pool Allocation": every five minutes it
// divides the free resources in the ratio of the forecasts, each an EWMA with a half-life of five
// minutes.
type proportional struct {
	count []int
	rate  []float64
}

func (p *proportional) arrived(second int, n []int) {
	for r := range n {
		p.count[r] += n[r]
	}
	if second%30 != 29 {
		return
	}
	const gain = 1 - 0.9330329915368074 // 2^(-30 s / 5 min)
	for r := range n {
		p.rate[r] += gain * (float64(p.count[r])/30 - p.rate[r])
		p.count[r] = 0
	}
}

func (p *proportional) moves(second int, w *simulation) (out []plan.Move) {
	if second%300 != 299 {
		return nil
	}
	free, rates := 0, 0.0
	for r := range p.rate {
		free, rates = free+w.free[r]+w.coming[r], rates+p.rate[r]
	}
	if rates == 0 {
		return nil
	}
	over := make([]int, len(p.rate))
	for r := range over {
		over[r] = w.free[r] + w.coming[r] - int(float64(free)*p.rate[r]/rates)
	}
	for {
		from, to := 0, 0
		for r := range over {
			if min(over[r], w.free[r]) > min(over[from], w.free[from]) {
				from = r
			}
			if over[r] < over[to] {
				to = r
			}
		}
		n := min(over[from], w.free[from]-w.planned(out, from), -over[to])
		if n <= 0 {
			return out
		}
		over[from], over[to] = over[from]-n, over[to]+n
		out = append(out, plan.Move{From: w.curves[from].Region, To: w.curves[to].Region, Count: int64(n)})
	}
}

// ours is the balancer's policy: a pull every two seconds, a plan every ten.
type ours struct {
	lim     plan.Limits
	margin  float64
	method  forecast.Method
	auto    bool
	series  []forecast.Series
	profile []forecast.Profile
}

func (p *ours) arrived(second int, n []int) {
	for r := range n {
		at := int64(second) * 1000
		p.series[r].Advance(at, &p.profile[r])
		for i := range n[r] { // evenly over the second
			p.series[r].Add(at+int64(i)*1000/int64(n[r]), 1, &p.profile[r])
		}
	}
}

func (p *ours) moves(second int, w *simulation) []plan.Move {
	if second%2 != 0 {
		return nil
	}
	views := make([]plan.View, len(p.series))
	for r := range views {
		views[r] = p.view(r, second, w)
	}
	if second%10 != 0 {
		return plan.Pulls(views, p.lim)
	}
	if p.auto {
		list := make([]*forecast.Series, len(p.series))
		for r := range list {
			list[r] = &p.series[r]
		}
		p.method = forecast.Choose(p.method, list)
	}
	return plan.Moves(views, p.lim)
}

func (p *ours) view(r, second int, w *simulation) plan.View {
	horizon := forecast.DefaultHorizon
	rate, spread := p.series[r].Forecast(p.method, &p.profile[r])
	return plan.View{
		Region: w.curves[r].Region, State: plan.StateActive, Free: int64(w.free[r]), Returning: int64(0.8 * float64(w.soon[r])),
		InTransit: int64(w.coming[r]), Need: int64((rate + p.margin*spread) * horizon.Seconds()), Rate: rate,
		Recent: p.series[r].Recent(int64(second+1) * 1000), Horizon: horizon.Milliseconds(),
	}
}

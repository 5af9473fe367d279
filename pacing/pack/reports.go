package pack

import (
	"time"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/control"
	"github.com/weirhq/weir/pacing/inflight"
)

// Times after which charges stand for the cost of the ads of a node, as without reports.
const (
	// ReportsFor is that after the last report of any ads: see Signals.ReportedMs.
	ReportsFor = time.Minute
	// NodeReportsFor is that after the last report of ads of the node: some show an ad in minutes.
	NodeReportsFor = 10 * time.Minute
)

// quietAfter is the time after the last report of ads of a node from which on charges above those
// that are expected are of ads that are not reported.
const quietAfter = time.Minute

// reports are the ads of a node that ad servers have reported.
type reports struct {
	estimate inflight.Estimate
	shown    float64 // expected cost of the ads since the last estimate, micros
	lastMs   int64   // tick after which ads were reported last
	spent    int64   // on the day, at the last estimate
	few      bool    // the ratio of charges is at its bound: few of the ads are reported
	other    bool    // the spend of the next estimate is of other campaigns
	flight   float64 // by the last estimate, micros
	cost     float64 // by the last estimate, micros in a control.Tick
}

// estimated is when the estimates of an account were made.
type estimated struct {
	atMs    int64  // of the tick; 0: there was none
	readMs  int64  // when the spend was right
	dataset string // that has counted it
}

// Shown takes ads that an ad server has shown. Ads of campaigns that the document in force does not
// have, of another currency, or of an earlier day are left out.
func (a *Account) Shown(m *eventspb.InsertionSums) {
	if a.doc == nil || m.GetAtMs() < a.window.BeginMs {
		return
	}
	for _, c := range m.GetCampaigns() {
		at, n, ok := a.layout.campaignAt(c.GetCampaign())
		if !ok || c.GetExpectedMicros() <= 0 || c.GetCurrency() != "" && c.GetCurrency() != a.doc.Currency {
			continue
		}
		for ; n != none; n = int(a.nodes[n].up) {
			a.nodes[n].show(float64(c.GetExpectedMicros()), a.atMs)
		}
		arms := a.arms(at)
		for i := range arms {
			if arms[i].id == c.GetArm() {
				arms[i].show(float64(c.GetExpectedMicros()), a.atMs)
			}
		}
	}
}

// show adds reported ads to a node: at most its budget, so that a wrong amount is forgotten. atMs
// is the time of the last tick.
func (n *node) show(micros float64, atMs int64) {
	if !n.paced {
		return
	}
	if n.reports == nil {
		n.reports = &reports{spent: n.spent}
	}
	n.reports.shown = min(n.reports.shown+micros, float64(n.micros))
	n.reports.lastMs = atMs
}

// reported reports whether ad servers report the ads of a node now.
func (a *Account) reported(n *node) bool {
	return n.reports != nil && a.atMs-a.reportedMs < ReportsFor.Milliseconds() &&
		a.atMs-n.reports.lastMs < NodeReportsFor.Milliseconds()
}

// estimate brings the estimates up to the spend that was read. While it is stale they stay, and so
// do the ads that are shown: controllers extrapolate the spend.
func (a *Account) estimate() {
	if a.ageMs >= control.HoldAfter.Milliseconds() {
		return
	}
	before := a.estimated
	a.estimated = estimated{a.atMs, a.readMs, a.dataset}
	took, sinceMs := time.Duration(a.readMs-before.readMs)*time.Millisecond, a.atMs-before.atMs
	if before.readMs == 0 { // no owner has read the spend before
		took = control.Tick
	}
	// A merge of datasets may lack rows.
	learns := before.atMs > 0 && a.dataset == before.dataset && a.dataset != "" && sinceMs > 0
	var decay *inflight.Decay
	for i := range a.nodes {
		n := &a.nodes[i]
		if r := n.reports; r != nil {
			if decay == nil {
				decay = new(inflight.After(took))
			}
			quiet := a.atMs-r.lastMs >= quietAfter.Milliseconds()
			r.step(n.spent, decay, learns && n.cost && a.reported(n), quiet)
			if sinceMs > 0 {
				r.cost *= float64(control.Tick.Milliseconds()) / float64(sinceMs)
			}
		}
	}
}

// step is an estimate. decay is of the time since the spend of the one before.
func (r *reports) step(spent int64, decay *inflight.Decay, learns, quiet bool) {
	charged, before := float64(spent-r.spent), r.flight
	if learns && !r.other {
		r.flight, r.cost = r.estimate.Step(r.shown, charged, decay)
	} else { // what was charged is not known, or not of ads that are reported
		r.flight, r.cost = r.estimate.Pass(r.shown, decay)
	}
	if r.shown > 0 {
		r.few = r.cost >= 0.999*inflight.MostRatio*r.shown
	}
	if quiet && learns {
		r.cost = max(r.cost, charged-max(0, before-r.flight))
	}
	r.spent, r.shown, r.other = spent, 0, false
}

// flight returns the cost of the ads that were shown and are not charged yet, micros.
func (n *node) flight() float64 {
	if n.reports == nil {
		return 0
	}
	return n.reports.flight
}

// tickCost returns the cost of the ads of a tick, micros. scale is the time between two ticks as a
// multiple of that between two readings of the spend.
func (a *Account) tickCost(n *node, tickMs, scale float64) float64 {
	if a.reported(n) && !n.reports.few {
		return n.reports.cost * max(0, tickMs) / float64(control.Tick.Milliseconds())
	}
	return max(0, float64(n.spent-n.last)) * scale
}

// beginReports begins a day: ads of the day before count against its budget. Those since the last
// tick count on the new day.
func (n *node) beginReports() {
	if r := n.reports; r != nil {
		r.estimate.Begin()
		r.flight, r.cost, r.spent = 0, 0, 0
	}
}

// keepReports takes the reports of another node of the same key. sameDay is whether its spend is
// that of the present day.
func (n *node) keepReports(o *node, sameDay bool) {
	if n.reports = o.reports; n.reports == nil {
		return
	}
	n.reports.other = n.reports.other || o.hash != n.hash || o.share.PPM != n.share.PPM
	if !sameDay {
		n.beginReports()
	}
}

// dropReports forgets the estimates, which are of another currency.
func (a *Account) dropReports() {
	for i := range a.nodes {
		a.nodes[i].reports = nil
	}
	for _, n := range a.restored {
		n.reports = nil
	}
}

// inFlight returns the estimate for a pack.
func (n *node) inFlight() *eventspb.InFlight {
	if n.reports == nil {
		return nil
	}
	s := n.reports.estimate.Summary()
	return &eventspb.InFlight{
		Micros: s.Flight, DelayMs: s.Delay.Milliseconds(), Ratio: s.Ratio, ReportedMs: n.reports.lastMs, ChargedMicros: s.Charged,
		ChargeMicros: s.Charge,
	}
}

// restoreReports continues the estimate of a pack.
func (n *node) restoreReports(m *eventspb.InFlight) {
	if m == nil {
		return
	}
	delay := min(max(m.GetDelayMs(), 0), time.Hour.Milliseconds())
	r := &reports{lastMs: m.GetReportedMs(), spent: n.spent, estimate: inflight.Restore(inflight.Summary{
		Flight: m.GetMicros(), Delay: time.Duration(delay) * time.Millisecond, Ratio: m.GetRatio(), Charged: m.GetChargedMicros(),
		Charge: m.GetChargeMicros(),
	})}
	r.flight = r.estimate.Summary().Flight
	n.reports = r
}

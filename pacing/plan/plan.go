package plan

import (
	"sort"
	"time"
)

// Early is the time before the end of the day by which a budget runs out early. Plans end an hour
// before the day, unless Config.Lead is another time.
const Early = 2 * time.Hour

// Config is the configuration of a Plan. Its zero value works.
type Config struct {
	// Location is the time zone of the account. Defaults to UTC.
	Location *time.Location
	// Lead is the time by which the plan ends before the window, so that a campaign that is behind
	// catches up. At most half of the window. Negative: none. Defaults to one hour.
	Lead time.Duration
}

// Plan is the planned share of a day, over time. The plan of an empty window has the share 1 from
// its begin on.
type Plan struct {
	window   Window
	finishMs int64
	points   []point // from the begin to the finish
}

// point is a time from which on the share grows evenly up to the next point.
type point struct {
	ms    int64
	share float64
}

// New returns the plan of a window by a shape. Hours of the local clock that a day has twice count
// twice, and those that it does not have do not count. An hour whose share is 0 plans no spend. If
// all hours of the window are 0, or the sum is not finite, the shape is uniform.
func New(s Shape, w Window, cfg Config) Plan {
	if cfg.Location == nil {
		cfg.Location = time.UTC
	}
	if cfg.Lead == 0 {
		cfg.Lead = time.Hour
	}
	p := Plan{window: w, finishMs: w.BeginMs}
	if w.Empty() {
		return p
	}
	length := w.EndMs - w.BeginMs
	p.finishMs = w.EndMs - min(max(cfg.Lead.Milliseconds(), 0), length/2)
	whole := p.add(&s, cfg.Location)
	if !(whole > 0 && whole <= maxSum) {
		uniform := Uniform()
		whole = p.add(&uniform, cfg.Location)
	}
	for i := range p.points {
		p.points[i].share = min(p.points[i].share/whole, 1)
	}
	p.points[len(p.points)-1].share = 1
	return p
}

// add sets the points, with shares whose last one is the sum of the shape from the begin to the
// finish.
func (p *Plan) add(s *Shape, loc *time.Location) (sum float64) {
	p.points = append(p.points[:0], point{p.window.BeginMs, 0})
	for ms := p.window.BeginMs; ms < p.finishMs; {
		hour, next := localHour(ms, loc)
		next = min(next, p.finishMs)
		if rate := s[hour]; rate > 0 {
			sum += rate * float64(next-ms) / float64(time.Hour.Milliseconds())
		}
		ms = next
		p.points = append(p.points, point{ms, sum})
	}
	return sum
}

// localHour returns the hour of the local clock at a time, and when it ends: at the full hour, or
// where the clock is changed.
func localHour(ms int64, loc *time.Location) (hour int, end int64) {
	t := time.UnixMilli(ms).In(loc)
	in := time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second + time.Duration(t.Nanosecond())
	end = ms + (time.Hour - in).Milliseconds()
	if _, change := t.ZoneBounds(); !change.IsZero() {
		end = min(end, max(change.UnixMilli(), ms+1))
	}
	return t.Hour(), end
}

// Share returns the share of the budget that is planned to be spent by a time, in Unix
// milliseconds.
func (p *Plan) Share(ms int64) float64 {
	switch {
	case ms >= p.finishMs: // also of an empty window
		return 1
	case ms <= p.window.BeginMs:
		return 0
	}
	i := sort.Search(len(p.points), func(i int) bool { return p.points[i].ms > ms })
	from, to := p.points[i-1], p.points[i]
	return min(from.share+(to.share-from.share)*float64(ms-from.ms)/float64(to.ms-from.ms), to.share)
}

// FinishMs returns when the whole budget is planned to be spent, in Unix milliseconds.
func (p *Plan) FinishMs() int64 { return p.finishMs }

package backtest

import (
	"math"
	"sort"
	"time"

	"github.com/weirhq/weir/internal/svg"
)

const (
	secondMs = 1000
	minuteMs = 60 * secondMs
	hourMs   = 60 * minuteMs
	dayMs    = 24 * hourMs
)

// waitMarks are the marks of the axis of waits, in ms.
func waitMarks() []int64 {
	return []int64{
		100, secondMs, 10 * secondMs, minuteMs, 10 * minuteMs, hourMs, 10 * hourMs, 2 * dayMs, 10 * dayMs, 100 * dayMs, 1000 * dayMs,
		10_000 * dayMs,
	}
}

// unit is a unit of time.
type unit struct {
	ms   int64
	name string
}

// unitOf returns the largest unit of which a time is a multiple.
func unitOf(ms int64) unit {
	for _, u := range []unit{{dayMs, "d"}, {hourMs, "h"}, {minuteMs, "min"}, {secondMs, "s"}} {
		if ms >= u.ms && ms%u.ms == 0 {
			return u
		}
	}
	return unit{1, "ms"}
}

// label returns a time in the unit.
func (u unit) label(ms int64) string { return digits(float64(ms)/float64(u.ms)) + " " + u.name }

// shareMarks returns the marks of an axis of shares, in percent, of which the least is lowest.
func shareMarks(lowest float64) []float64 {
	for _, marks := range [][]float64{{90, 92, 95, 97, 99, 100}, {75, 80, 85, 90, 95, 100}, {50, 60, 70, 80, 90, 95, 100}} {
		if 100*lowest >= marks[0] {
			return marks
		}
	}
	return []float64{0, 25, 50, 75, 95, 100}
}

// waits draws the distributions of waits.
func (b picture) waits(top float64, results []*Result) {
	first, last, lowest := waitMarks()[0], 10*int64(secondMs), 1.0
	for _, r := range results {
		last = max(last, r.Max.Milliseconds())
		lowest = min(lowest, r.within(float64(first)))
	}
	scale := math.Log(float64(last) / float64(first))
	x := func(ms int64) float64 { return plotLeft + plotWidth*math.Log(float64(ms)/float64(first))/scale }
	b.Text(svg.Dot{X: plotLeft - 58, Y: top - 18}, headText, "Share of the jobs that waited at most so long")
	bottom := top + plotHigh
	shares := shareMarks(lowest)
	part := func(share float64) float64 { return (100*share - shares[0]) / (100 - shares[0]) }
	for _, percent := range shares {
		b.level(top, part(percent/100), digits(percent)+" %")
	}
	for i, ms := range waitMarks() {
		if ms > last {
			break
		}
		b.Line(`class="grid"`, svg.Dot{X: x(ms), Y: top}, svg.Dot{X: x(ms), Y: bottom})
		text := unitOf(ms).label(ms)
		if i == 0 {
			text = "≤ " + text
		}
		b.Text(svg.Dot{X: x(ms), Y: bottom + 19}, belowText, text)
	}
	b.Text(svg.Dot{X: plotLeft + plotWidth/2, Y: bottom + 40}, belowText, "wait, on a logarithmic scale")
	if ms := results[0].Config.MaxWait.Milliseconds(); ms > 10*first && ms <= last {
		b.Line(`class="limit"`, svg.Dot{X: x(ms), Y: top}, svg.Dot{X: x(ms), Y: bottom})
		b.Text(svg.Dot{X: x(ms) - 6, Y: bottom - 8}, leftText, "oldest first beyond "+unitOf(ms).label(ms))
	}
	for i, r := range results {
		var dots []svg.Dot
		for at := 0.0; at <= plotWidth; at++ {
			share := r.within(float64(first) * math.Exp(scale*at/plotWidth))
			dots = append(dots, svg.Dot{X: plotLeft + at, Y: bottom - plotHigh*part(share)})
		}
		b.Curve(lineClass(i), dots)
	}
}

// within returns the share of the jobs that waited at most ms.
func (r *Result) within(ms float64) float64 {
	return float64(sort.Search(len(r.sorted), func(i int) bool { return float64(r.sorted[i]) > ms })) / float64(len(r.sorted))
}

// level draws a horizontal line of a panel at a share of its height.
func (b picture) level(top, share float64, text string) {
	y := top + plotHigh*(1-share)
	class := "grid"
	if share == 0 {
		class = "axis"
	}
	b.Line(`class="`+class+`"`, svg.Dot{X: plotLeft, Y: y}, svg.Dot{X: plotLeft + plotWidth, Y: y})
	b.Text(svg.Dot{X: plotLeft - 8, Y: y + 4}, leftText, text)
}

// bins is the number of intervals of time in which the jobs that wait are counted.
const bins = 520

// queues draws how many jobs were waiting over time.
func (b picture) queues(begin float64, results []*Result) {
	length, most := int64(1), 0.0
	for _, r := range results {
		length = max(length, r.makespanMs)
	}
	curves := make([][]float64, len(results))
	for i, r := range results {
		curves[i] = r.waiting(length)
		for _, n := range curves[i] {
			most = max(most, n)
		}
	}
	step := niceStep(most)
	top := step * max(1, math.Ceil(most/step))
	b.Text(svg.Dot{X: plotLeft - 58, Y: begin - 18}, headText, "Jobs that were waiting, mean of "+interval(length))
	for n := 0.0; n <= top+step/2; n += step {
		b.level(begin, n/top, digits(n))
	}
	bottom := begin + plotHigh
	every := timeStep(length)
	for ms := int64(0); ms <= length; ms += every {
		x := plotLeft + plotWidth*float64(ms)/float64(length)
		b.Line(`class="axis"`, svg.Dot{X: x, Y: bottom}, svg.Dot{X: x, Y: bottom + 5})
		text := "0"
		if ms > 0 {
			text = unitOf(every).label(ms)
		}
		b.Text(svg.Dot{X: x, Y: bottom + 20}, belowText, text)
	}
	b.Text(svg.Dot{X: plotLeft + plotWidth/2, Y: bottom + 41}, belowText, "time since the first arrival")
	for i, curve := range curves {
		var dots []svg.Dot
		for n, jobs := range curve {
			dots = append(dots, svg.Dot{X: plotLeft + plotWidth*(float64(n)+0.5)/bins, Y: bottom - plotHigh*jobs/top})
		}
		b.Curve(lineClass(i), dots)
	}
}

// interval returns the length of a bin for people.
func interval(length int64) string {
	d := milli(length) / bins
	if d >= 10*time.Second {
		return d.Round(time.Second).String()
	}
	return d.Round(time.Millisecond).String()
}

// waiting returns how many jobs were waiting in each of the bins of a time, in ms, in the mean.
func (r *Result) waiting(length int64) []float64 {
	jobs := make([]float64, bins+2) // first as changes from the bin before
	width := float64(length) / bins
	// until adds d jobs that are waiting from the begin of the trace until a time.
	until := func(ms int64, d float64) {
		at := float64(ms) / width
		n := min(int(at), bins)
		part := at - float64(n)
		jobs[0] += d
		jobs[n] -= d * (1 - part)
		jobs[n+1] -= d * part
	}
	for i, wait := range r.waits {
		from := r.trace.Jobs[i].AtMs
		until(from+wait, 1)
		until(from, -1)
	}
	for i := 1; i < len(jobs); i++ {
		jobs[i] += jobs[i-1]
	}
	for i := range jobs {
		jobs[i] = max(0, jobs[i]) // of the rounding
	}
	return jobs[:bins]
}

// niceStep returns the distance of about four marks up to most: 1, 2 or 5 times a power of 10.
func niceStep(most float64) float64 {
	most = max(most, 1)
	step := math.Pow(10, math.Floor(math.Log10(most/4)))
	for _, f := range []float64{1, 2, 5} {
		if f*step*5 >= most {
			return f * step
		}
	}
	return 10 * step
}

// timeStep returns the distance of at most twelve marks of a time, in ms.
func timeStep(length int64) int64 {
	for _, ms := range []int64{
		1, 10, 100, secondMs, 2 * secondMs, 5 * secondMs, 10 * secondMs, 30 * secondMs, minuteMs, 2 * minuteMs, 5 * minuteMs, 10 * minuteMs,
		30 * minuteMs, hourMs, 2 * hourMs, 4 * hourMs, 6 * hourMs, 12 * hourMs, dayMs, 2 * dayMs, 5 * dayMs,
	} {
		if ms*12 >= length {
			return ms
		}
	}
	return 10 * dayMs * (1 + length/(120*dayMs))
}

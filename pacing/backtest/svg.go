package backtest

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/weirhq/weir/internal/svg"
)

// Sizes of the picture, in pixels.
const (
	columns    = 3
	panelWidth = 330
	panelHigh  = 170
	leftRoom   = 58 // of a panel, for the numbers of its axis
	belowRoom  = 78 // of a panel, for the hours and the title of the next one
	headHigh   = 128
	maxPanels  = 24
)

// rules are those of the plan, and of the lines, whose colours are distinguishable with colour
// blindness (Okabe, Ito).
const rules = `.plan{stroke:#1a1a1a;stroke-dasharray:5 4}.s0{stroke:#9a9a96}.s1{stroke:#e69f00}.s2{stroke:#d55e00}
.s3{stroke:#cc79a7}.s4{stroke:#0072b2}.s5{stroke:#009e73}
@media (prefers-color-scheme:dark){.plan{stroke:#f0f0ee}.s0{stroke:#77787c}.s1{stroke:#ffc14d}.s2{stroke:#ff8a4c}
.s3{stroke:#e9a6ca}.s4{stroke:#5eb1ff}.s5{stroke:#43d3a5}}
`

const colours = 6

// picture is the picture of results.
type picture struct{ *svg.Picture }

// SVG draws the planned and the actual cumulative spend of each result, with a panel for each
// campaign day: the 24 of the greatest budgets. It has colours for light and dark surroundings. loc
// is the time zone of the days. The results are those of Run with these days.
func SVG(out io.Writer, days []Day, results []Result, loc *time.Location) error {
	for _, r := range results {
		if len(r.curves) != len(days) {
			return fmt.Errorf("%w: result %s is not of these days", ErrInput, r.Name)
		}
	}
	shown := make([]int, len(days))
	for i := range shown {
		shown[i] = i
	}
	slices.SortStableFunc(shown, func(a, b int) int { return cmp.Compare(days[b].Budget, days[a].Budget) })
	shown = shown[:min(len(shown), maxPanels)]
	slices.Sort(shown)
	rows := (len(shown) + columns - 1) / columns
	width, height := columns*(panelWidth+leftRoom)+24, headHigh+rows*(panelHigh+belowRoom)
	b := picture{svg.New(width, height, rules)}
	b.head(results, len(shown), len(days))
	for n, i := range shown {
		x := float64(leftRoom + n%columns*(panelWidth+leftRoom))
		y := float64(headHigh + n/columns*(panelHigh+belowRoom))
		b.panel(x, y, &days[i])
		for s, r := range results {
			b.curve(x, y, fmt.Sprintf(`class="s%d" stroke-width="1.6"`, s%colours), points(&days[i], r.curves[i]))
		}
		b.curve(x, y, `class="plan" stroke-width="1.3"`, points(&days[i], planned(&days[i])))
		b.hours(x, y, &days[i], loc)
	}
	return b.Write(out)
}

// planned returns the plan of a day at the points of a curve.
func planned(d *Day) (list []float64) {
	for ms := d.Window.BeginMs; ms < d.Window.EndMs; ms += pointMs {
		list = append(list, d.Plan.Share(min(ms+pointMs, d.Window.EndMs)))
	}
	return list
}

// head draws the title and the legend.
func (b picture) head(results []Result, shown, days int) {
	title := "Planned and actual spend of campaign days"
	if shown < days {
		title += fmt.Sprintf(": the %d of %d with the greatest budgets", shown, days)
	}
	b.Text(svg.Dot{X: 20, Y: 34}, `class="ink" font-size="20" font-weight="600"`, title)
	b.Text(svg.Dot{X: 20, Y: 56}, `class="soft" font-size="13"`, "cumulative spend in % of the budget, by the local hour")
	x := 20.0
	key := func(class, name string) {
		b.Line(`class="`+class+`" stroke-width="2.4"`, svg.Dot{X: x, Y: 78}, svg.Dot{X: x + 24, Y: 78})
		b.Text(svg.Dot{X: x + 30, Y: 82}, `class="ink" font-size="13"`, name)
		x += 30 + 8*float64(len(name)) + 24
	}
	key("plan", "plan")
	for i, r := range results {
		key(fmt.Sprintf("s%d", i%colours), r.Name)
	}
}

// panel draws the axes of a campaign day.
func (b picture) panel(x, y float64, d *Day) {
	b.Text(svg.Dot{X: x, Y: y - 10}, `class="ink" font-size="13" font-weight="600"`, d.Campaign+", "+d.Day.String())
	for percent := 0; percent <= 100; percent += 25 {
		at := y + panelHigh*(1-float64(percent)/100)
		class := "grid"
		if percent == 0 {
			class = "axis"
		}
		b.Line(`class="`+class+`"`, svg.Dot{X: x, Y: at}, svg.Dot{X: x + panelWidth, Y: at})
		b.Text(svg.Dot{X: x - 6, Y: at + 4}, `class="soft" font-size="11" text-anchor="end"`, fmt.Sprintf("%d %%", percent))
	}
}

// hours draws the marks of the time axis.
func (b picture) hours(x, y float64, d *Day, loc *time.Location) {
	const hour = 3_600_000
	length := d.Window.EndMs - d.Window.BeginMs
	every := 4
	switch {
	case length <= 4*hour:
		every = 1
	case length <= 10*hour:
		every = 2
	}
	const quarter = hour / 4
	for ms := (d.Window.BeginMs + quarter - 1) / quarter * quarter; ms < d.Window.EndMs; ms += quarter {
		t := time.UnixMilli(ms).In(loc)
		if t.Minute() != 0 || t.Hour()%every != 0 {
			continue
		}
		at := x + panelWidth*float64(ms-d.Window.BeginMs)/float64(length)
		b.Line(`class="axis"`, svg.Dot{X: at, Y: y + panelHigh}, svg.Dot{X: at, Y: y + panelHigh + 4})
		b.Text(svg.Dot{X: at, Y: y + panelHigh + 17}, `class="soft" font-size="11" text-anchor="middle"`, t.Format("15:04"))
	}
}

// dot is a point of a curve: shares of the window and of the budget.
type dot struct{ time, spent float64 }

// points returns a curve of shares of the budget at the ends of the slots of a day.
func points(d *Day, shares []float64) (list []dot) {
	length := d.Window.EndMs - d.Window.BeginMs
	for i, share := range shares {
		list = append(list, dot{float64(min(int64(i+1)*pointMs, length)) / float64(length), share})
	}
	return list
}

// curve draws a curve from 0 on.
func (b picture) curve(x, y float64, attributes string, dots []dot) {
	list := []svg.Dot{{X: x, Y: y + panelHigh}}
	for _, p := range dots {
		list = append(list, svg.Dot{X: x + panelWidth*p.time, Y: y + panelHigh*(1-min(p.spent, 1.02))})
	}
	b.Curve(attributes, list)
}

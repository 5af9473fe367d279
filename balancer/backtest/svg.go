package backtest

import (
	"bytes"
	"fmt"
	"io"
	"time"
)

// Sizes of the picture, in pixels.
const (
	width      = 1240
	left       = 64  // of the first panel, with room for numbers
	gap        = 56  // between the two columns
	right      = 24  // margin
	headHeight = 118 // title and legend
	panelRoom  = 54  // for the title above a panel and the times below
	tall       = 168
	low        = 118
)

// colour returns the colour of a region. The colours are distinguishable with colour blindness
// (Okabe, Ito).
func colour(i int) string {
	list := [...]string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#5c5c5c"}
	return list[i%len(list)]
}

// canvas is the picture.
type canvas struct{ bytes.Buffer }

// figure returns the drawn value of a point.
type figure func(p Point, each time.Duration) float64

type line struct {
	colour string
	values []float64
	filled bool
}

// SVG draws the demand, and over time the free resources, refusals and moves of the balancer's
// policy beside those of the policy that it replaces, with equal scales.
func (r *Report) SVG(out io.Writer) error {
	ours, seed := r.Result(Weir), r.Result(ProportionalHourly)
	if ours == nil || seed == nil {
		return fmt.Errorf("backtest: the report has no %q or no %q", Weir, ProportionalHourly)
	}
	b := &canvas{}
	half := float64(width-left-right-gap) / 2
	height := float64(headHeight + 4*panelRoom + tall + 3*low + 24)
	fmt.Fprintf(b,
		`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%.0f" viewBox="0 0 %d %.0f" font-family="Inter, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif">`+"\n", width, height, width, height)
	fmt.Fprintf(b, `<rect width="100%%" height="100%%" fill="#fdfdfb"/>`+"\n")
	r.head(b, ours, seed)
	y := float64(headHeight + 30)
	most := 0.0
	for _, points := range ours.Points {
		for _, p := range points {
			most = max(most, p.Wanted)
		}
	}
	r.panel(b, panel{x: left, y: y, w: width - left - right, h: tall, title: "Demand: new leases wanted", unit: "a second", top: most},
		ours, wanted)
	for _, row := range []struct {
		title, unit string
		of          figure
		fill        bool
	}{
		{"free resources, the least in each interval", "", free, false},
		{"refused", "a minute", refused, true},
		{"moved here", "a minute", moved, true},
	} {
		if y += panelRoom; row.title[0] == 'f' {
			y += tall
		} else {
			y += low
		}
		top := 0.0
		for _, res := range []*Result{ours, seed} {
			for _, points := range res.Points { // the warm time may exceed the scale
				for _, p := range points[min(len(points)-1, int(r.Config.WarmUp/res.PointInterval)):] {
					top = max(top, row.of(p, res.PointInterval))
				}
			}
		}
		p := panel{y: y, w: half, h: low, unit: row.unit, top: max(top, 1), fill: row.fill}
		p.x, p.title = left, "weir: "+row.title
		r.panel(b, p, ours, row.of)
		p.x, p.title = left+half+gap, "Proportional: "+row.title
		r.panel(b, p, seed, row.of)
	}
	b.WriteString("</svg>\n")
	_, err := out.Write(b.Bytes())
	return err
}

func wanted(p Point, _ time.Duration) float64 { return p.Wanted }
func free(p Point, _ time.Duration) float64   { return float64(p.Free) }
func refused(p Point, each time.Duration) float64 {
	return float64(p.Refused) / each.Minutes()
}

func moved(p Point, each time.Duration) float64 {
	return float64(p.MovedIn) / each.Minutes()
}

func (r *Report) head(b *canvas, ours, seed *Result) {
	b.text(left, 36, `font-size="21" font-weight="600" fill="#1a1a1a"`, "Where free resources are, and who was refused")
	b.text(left, 62, `font-size="14" fill="#444"`,
		fmt.Sprintf(
			"weir refused %.2f %% of %s leases and moved %.1f resources per 100; the proportional policy, liberating hourly, refused %.2f %% and moved %.1f.",
			ours.RefusedPercent(), count(float64(ours.Wanted)), ours.MovedPer100(), seed.RefusedPercent(), seed.MovedPer100()))
	b.text(left, 82, `font-size="12" fill="#777"`,
		fmt.Sprintf("%s resources for all regions; the same arrivals for both; the shaded beginning is not counted.",
			count(float64(ours.Stock))))
	x := float64(left)
	for i, c := range r.Curves {
		fmt.Fprintf(b, `<rect x="%.0f" y="98" width="18" height="4" rx="2" fill="%s"/>`+"\n", x, colour(i))
		b.text(x+24, 105, `font-size="13" fill="#222"`, c.Region)
		x += 24 + 8.2*float64(len(c.Region)) + 28
	}
}

func (r *Report) panel(b *canvas, p panel, res *Result, of figure) {
	for i, points := range res.Points {
		l := line{colour: colour(i), filled: p.fill}
		for _, pt := range points {
			l.values = append(l.values, of(pt, res.PointInterval))
		}
		p.lines = append(p.lines, l)
	}
	p.start, p.span, p.warm = r.Curves[0].Start, time.Duration(r.Curves[0].seconds())*time.Second, r.Config.WarmUp
	p.draw(b)
}

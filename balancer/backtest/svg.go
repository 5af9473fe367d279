package backtest

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// Sizes of the picture, in pixels.
const (
	width      = 1240
	left       = 64  // of the first panel: room for numbers
	gap        = 56  // between the two columns
	right      = 24  //
	headHeight = 118 // title and legend
	panelRoom  = 54  // above a panel, for its title, and below, for times
	tall       = 168
	low        = 118
)

// colours are of regions in their order: told apart by those who see few colours, too (Okabe, Ito).
func colour(i int) string {
	list := [...]string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#5c5c5c"}
	return list[i%len(list)]
}

// panel is one set of axes.
type panel struct {
	x, y, w, h float64
	title      string
	top        float64   // of its scale
	lines      []line    // one for each region
	unit       string    // of the scale
	start      time.Time // of the first value
	span       time.Duration
	warm       time.Duration
}

type line struct {
	colour string
	values []float64
	filled bool
}

// SVG draws demand, and free stock, refusals and moves over time, of the balancer's policy beside the one that it replaces, both
// to the same scales.
func (r *Report) SVG(out io.Writer) error {
	ours, seed := r.Of(Ours), r.Of(Seed)
	if ours == nil || seed == nil {
		return fmt.Errorf("backtest: the report has no %q or no %q", Ours, Seed)
	}
	var b bytes.Buffer
	half := float64(width-left-right-gap) / 2
	height := float64(headHeight + 4*panelRoom + tall + 3*low + 24)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%.0f" viewBox="0 0 %d %.0f" font-family="Inter, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="#fdfdfb"/>`+"\n")
	r.head(&b, ours, seed)
	y := float64(headHeight + 30)
	most := 0.0
	for _, points := range ours.Points {
		for _, p := range points {
			most = max(most, p.Wanted)
		}
	}
	r.panel(&b, panel{x: left, y: y, w: width - left - right, h: tall, title: "Demand: new leases wanted", unit: "a second", top: most}, ours, wanted, false)
	for _, row := range []struct {
		title, unit string
		of          func(Point, time.Duration) float64
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
			for _, points := range res.Points { // what is not counted may be cut off
				for _, p := range points[min(len(points)-1, int(r.Config.Warm/res.Each)):] {
					top = max(top, row.of(p, res.Each))
				}
			}
		}
		p := panel{y: y, w: half, h: low, unit: row.unit, top: max(top, 1)}
		p.x, p.title = left, "weir: "+row.title
		r.panel(&b, p, ours, row.of, row.fill)
		p.x, p.title = left+half+gap, "Proportional: "+row.title
		r.panel(&b, p, seed, row.of, row.fill)
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

func (r *Report) head(b *bytes.Buffer, ours, seed *Result) {
	text(b, left, 36, `font-size="21" font-weight="600" fill="#1a1a1a"`, "Where free resources are, and who was refused")
	text(b, left, 62, `font-size="14" fill="#444"`, fmt.Sprintf("weir refused %.2f %% of %s leases and moved %.1f resources per 100; the proportional policy, liberating hourly, refused %.2f %% and moved %.1f.",
		ours.RefusedPercent(), count(float64(ours.Wanted)), ours.MovedPer100(), seed.RefusedPercent(), seed.MovedPer100()))
	text(b, left, 82, `font-size="12" fill="#777"`, fmt.Sprintf("%s resources for all regions; the same arrivals for both; the shaded beginning is not counted.", count(float64(ours.Stock))))
	x := float64(left)
	for i, c := range r.Curves {
		fmt.Fprintf(b, `<rect x="%.0f" y="98" width="18" height="4" rx="2" fill="%s"/>`+"\n", x, colour(i))
		text(b, x+24, 105, `font-size="13" fill="#222"`, c.Region)
		x += 24 + 8.2*float64(len(c.Region)) + 28
	}
}

func (r *Report) panel(b *bytes.Buffer, p panel, res *Result, of func(Point, time.Duration) float64, fill bool) {
	for i, points := range res.Points {
		l := line{colour: colour(i), filled: fill}
		for _, pt := range points {
			l.values = append(l.values, of(pt, res.Each))
		}
		p.lines = append(p.lines, l)
	}
	p.start, p.span, p.warm = r.Curves[0].Start, time.Duration(r.Curves[0].seconds())*time.Second, r.Config.Warm
	p.draw(b)
}

func (p *panel) draw(b *bytes.Buffer) {
	if p.unit != "" {
		p.title += " " + p.unit
	}
	text(b, p.x, p.y-10, `font-size="13" font-weight="600" fill="#222"`, p.title)
	step := nice(p.top / 4)
	top := max(step, math.Ceil(p.top/step)*step)
	if warm := p.w * min(1, float64(p.warm)/float64(p.span)); warm > 1 {
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="#f0efe9"/>`+"\n", p.x, p.y, warm, p.h)
	}
	for v := 0.0; v <= top*1.0001; v += step {
		y := p.y + p.h*(1-v/top)
		shade := "#e4e3dd"
		if v == 0 {
			shade = "#8a8a86"
		}
		fmt.Fprintf(b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`+"\n", p.x, y, p.x+p.w, y, shade)
		text(b, p.x-8, y+4, `font-size="11" fill="#666" text-anchor="end"`, count(v))
	}
	p.times(b)
	for _, l := range p.lines {
		p.curve(b, l, top)
	}
}

// times writes days, hours or minutes below the panel, whichever fit.
func (p *panel) times(b *bytes.Buffer) {
	most := p.w / 90
	every, layout := 24*time.Hour, "2 Jan"
	for _, d := range []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 48 * time.Hour, 7 * 24 * time.Hour, 28 * 24 * time.Hour} {
		if every = d; float64(p.span)/float64(d) <= most {
			break
		}
	}
	if every < 24*time.Hour {
		layout = "2 Jan 15:04"
	}
	if every < 3*time.Hour {
		layout = "15:04"
	}
	for at := p.start.Truncate(every); at.Before(p.start.Add(p.span)); at = at.Add(every) {
		x := p.x + p.w*float64(at.Sub(p.start))/float64(p.span)
		if x < p.x {
			continue
		}
		fmt.Fprintf(b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#8a8a86"/>`+"\n", x, p.y+p.h, x, p.y+p.h+4)
		if x+40 < p.x+p.w {
			text(b, x+3, p.y+p.h+15, `font-size="11" fill="#666"`, at.Format(layout))
		}
	}
}

func (p *panel) curve(b *bytes.Buffer, l line, top float64) {
	var d strings.Builder
	for i, v := range l.values {
		x := p.x + p.w*(float64(i)+0.5)/float64(len(l.values))
		verb := "L"
		if i == 0 {
			verb = "M"
		}
		fmt.Fprintf(&d, "%s%.1f %.1f", verb, x, p.y+p.h*(1-min(1, v/top)))
	}
	if l.filled {
		fmt.Fprintf(b, `<path d="%sL%.1f %.1fL%.1f %.1fZ" fill="%s" fill-opacity="0.22"/>`+"\n", d.String(), p.x+p.w, p.y+p.h, p.x, p.y+p.h, l.colour)
	}
	fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="1.5" stroke-linejoin="round"/>`+"\n", d.String(), l.colour)
}

func text(b *bytes.Buffer, x, y float64, attrs, s string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" %s>`, x, y, attrs)
	_ = xml.EscapeText(b, []byte(s)) // a Buffer has no errors
	b.WriteString("</text>\n")
}

// nice is the next of 1, 2, 5, 10, ... that is not below v.
func nice(v float64) float64 {
	if !(v > 0) {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, n := range []float64{1, 2, 5} {
		if n*unit >= v*0.9999 {
			return n * unit
		}
	}
	return 10 * unit
}

// count is a number for people.
func count(v float64) string {
	switch {
	case v >= 1e6:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", v/1e6), ".0") + " M"
	case v >= 10_000:
		return fmt.Sprintf("%.0f k", v/1e3)
	case v >= 10 || v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	default:
		return fmt.Sprintf("%.2g", v)
	}
}

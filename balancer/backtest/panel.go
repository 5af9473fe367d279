package backtest

import (
	"encoding/xml"
	"fmt"
	"math"
	"strings"
	"time"
)

// panel is one set of axes with its lines.
type panel struct {
	x, y, w, h float64
	title      string
	top        float64   // greatest value of its scale
	lines      []line    // one for each region
	unit       string    // of the scale
	start      time.Time // of the first value
	span       time.Duration
	warm       time.Duration
	fill       bool // fill the area below the lines
}

func (p *panel) draw(b *canvas) {
	if p.unit != "" {
		p.title += " " + p.unit
	}
	b.text(p.x, p.y-10, `font-size="13" font-weight="600" fill="#222"`, p.title)
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
		b.text(p.x-8, y+4, `font-size="11" fill="#666" text-anchor="end"`, count(v))
	}
	p.times(b)
	for _, l := range p.lines {
		p.curve(b, l, top)
	}
}

// times draws the marks of the time axis: days, hours or minutes, by the span.
func (p *panel) times(b *canvas) {
	most := p.w / 90
	every, layout := 24*time.Hour, "2 Jan"
	for _, d := range []time.Duration{
		time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
		48 * time.Hour, 7 * 24 * time.Hour, 28 * 24 * time.Hour,
	} {
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
		if x+3+6.6*float64(len(layout)) < p.x+p.w {
			b.text(x+3, p.y+p.h+15, `font-size="11" fill="#666"`, at.Format(layout))
		}
	}
}

func (p *panel) curve(b *canvas, l line, top float64) {
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
		fmt.Fprintf(b, `<path d="%sL%.1f %.1fL%.1f %.1fZ" fill="%s" fill-opacity="0.22"/>`+"\n", d.String(), p.x+p.w, p.y+p.h, p.x, p.y+p.h,
			l.colour)
	}
	fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="1.5" stroke-linejoin="round"/>`+"\n", d.String(), l.colour)
}

func (b *canvas) text(x, y float64, attrs, s string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" %s>`, x, y, attrs)
	_ = xml.EscapeText(b, []byte(s)) // a buffer has no errors
	b.WriteString("</text>\n")
}

// nice returns the smallest of 1, 2, 5, 10, ... that is at least v.
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

// count formats a number.
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

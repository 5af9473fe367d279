package backtest

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/internal/svg"
)

// Sizes of the picture, in pixels.
const (
	pictureWidth = 1160
	plotLeft     = 78
	plotWidth    = pictureWidth - plotLeft - 40
	plotHigh     = 272
	plotBelow    = 58 // for the marks and the name of the axis
	keyTop       = 88
	keyHigh      = 24
	keyWidth     = 374
	keyColumns   = 3
)

// rules are those of the limit, and of the lines, whose colours are distinguishable with colour
// blindness (Okabe, Ito).
const rules = `.limit{stroke:#5a5a58;stroke-dasharray:2 4}.l{stroke-width:1.8}
.s0{stroke:#8a8a86}.s1{stroke:#e69f00}.s2{stroke:#0072b2}.s3{stroke:#009e73}.s4{stroke:#d55e00}.s5{stroke:#cc79a7}
@media (prefers-color-scheme:dark){.limit{stroke:#b4b4b0}
.s0{stroke:#9a9b9f}.s1{stroke:#ffc14d}.s2{stroke:#5eb1ff}.s3{stroke:#43d3a5}.s4{stroke:#ff8a4c}.s5{stroke:#e9a6ca}}
`

// MaxLines is the number of results that a picture can have.
const MaxLines = 12

// lineClass returns the attributes of the line of a result: a colour, and dashes for those beyond
// the six colours.
func lineClass(i int) string {
	if i < 6 {
		return fmt.Sprintf(`class="l s%d"`, i)
	}
	return fmt.Sprintf(`class="l s%d" stroke-dasharray="7 4"`, i%6)
}

// picture is the picture of results.
type picture struct{ *svg.Picture }

// The styles of texts.
const (
	titleText = `class="ink" font-size="21" font-weight="600"`
	headText  = `class="ink" font-size="15" font-weight="600"`
	keyText   = `class="ink" font-size="13"`
	softText  = `class="soft" font-size="13"`
	belowText = `class="soft" font-size="12" text-anchor="middle"`
	leftText  = `class="soft" font-size="12" text-anchor="end"`
)

// SVG draws the results of a trace: which share of the jobs waited how long, and how many jobs were
// waiting over time. It has colours for light and dark surroundings. The results are 1 to MaxLines
// of Run with one trace.
func SVG(out io.Writer, results []*Result) error {
	if len(results) < 1 || len(results) > MaxLines {
		return fmt.Errorf("%w: a picture of %d policies, and 1 to %d are possible", ErrConfig, len(results), MaxLines)
	}
	first := keyTop + float64((len(results)+keyColumns-1)/keyColumns*keyHigh) + 36
	second := first + plotHigh + plotBelow + 52
	high := int(second) + plotHigh + plotBelow
	b := picture{svg.New(pictureWidth, high, rules)}
	b.head(results)
	b.waits(first, results)
	b.queues(second, results)
	return b.Write(out)
}

// head draws the title and the legend.
func (b picture) head(results []*Result) {
	r := results[0]
	alike := true
	for _, x := range results {
		alike = alike && x.Agents == r.Agents
	}
	b.Text(svg.Dot{X: 20, Y: 36}, titleText, "Waits of recorded jobs by scheduling policy")
	agents := "the least number of agents that meets the target"
	if alike {
		agents = number(r.Agents, "agent")
	}
	b.Text(svg.Dot{X: 20, Y: 60}, softText, fmt.Sprintf("%s; %s; an agent has %s, keeps %s, and loads another one in %v",
		number(r.Jobs, "job"), agents, number(r.Config.Slots, "slot"), number(r.Config.Associations, "resource"), r.Config.Load))
	for i, r := range results {
		name := r.Policy.String()
		if !alike {
			name += fmt.Sprintf(", %d agents", r.Agents)
		}
		name += fmt.Sprintf(": %.1f %% hits, mean wait %s", 100*r.HitRate(), seconds(r.Mean))
		x, y := float64(20+i%keyColumns*keyWidth), float64(keyTop+i/keyColumns*keyHigh)
		b.Curve(lineClass(i), []svg.Dot{{X: x, Y: y - 4}, {X: x + 28, Y: y - 4}})
		b.Text(svg.Dot{X: x + 34, Y: y}, keyText, name)
	}
}

// seconds returns a duration in seconds, with three digits at least.
func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', max(0, 3-len(strconv.Itoa(int(d.Seconds())))), 64) + " s"
}

// number returns a number and a noun.
func number(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return digits(float64(n)) + " " + noun
}

// digits returns a number with separators, and with three decimal places at most.
func digits(x float64) string {
	s := strconv.FormatFloat(math.Round(1000*x)/1000, 'f', -1, 64)
	whole, part, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if part != "" {
		part = "." + part
	}
	return whole + part
}

package svg

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// style has the colours that all pictures need, for light and dark surroundings.
const style = `.bg{fill:#fdfdfb}.ink{fill:#1a1a1a}.soft{fill:#5a5a58}.grid{stroke:#e4e3dd}.axis{stroke:#8a8a86}
@media (prefers-color-scheme:dark){
.bg{fill:#17181a}.ink{fill:#f0f0ee}.soft{fill:#b4b4b0}.grid{stroke:#34353a}.axis{stroke:#84858a}}
`

// Picture is a picture that is written. It has the classes bg, ink and soft of fills, and grid and
// axis of strokes.
type Picture struct{ text bytes.Buffer }

// Dot is a point, in pixels from the upper left corner.
type Dot struct{ X, Y float64 }

// New begins a picture. rules are further rules of its style sheet.
func New(width, height int, rules string) *Picture {
	p := &Picture{}
	fmt.Fprintf(&p.text, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" `+
		`font-family="Inter, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif">`+"\n", width, height, width, height)
	p.text.WriteString("<style>\n" + style + rules + "</style>\n" + `<rect class="bg" width="100%" height="100%"/>` + "\n")
	return p
}

// Text draws a text, whose anchor is at a dot. attributes are those of the element, such as
// class="ink" font-size="13".
func (p *Picture) Text(at Dot, attributes, s string) {
	fmt.Fprintf(&p.text, `<text x="%.1f" y="%.1f" %s>`, at.X, at.Y, attributes)
	_ = xml.EscapeText(&p.text, []byte(s)) // a buffer has no errors
	p.text.WriteString("</text>\n")
}

// Line draws a line.
func (p *Picture) Line(attributes string, from, to Dot) {
	fmt.Fprintf(&p.text, `<line %s x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n", attributes, from.X, from.Y, to.X, to.Y)
}

// Curve draws lines from dot to dot.
func (p *Picture) Curve(attributes string, dots []Dot) {
	var d strings.Builder
	op := 'M'
	for _, at := range dots {
		fmt.Fprintf(&d, "%c%.1f %.1f", op, at.X, at.Y)
		op = 'L'
	}
	fmt.Fprintf(&p.text, `<path %s d="%s" fill="none" stroke-linejoin="round"/>`+"\n", attributes, d.String())
}

// Write ends the picture and writes it.
func (p *Picture) Write(out io.Writer) error {
	p.text.WriteString("</svg>\n")
	_, err := out.Write(p.text.Bytes())
	return err
}

package obs

import (
	"fmt"
	"strconv"
	"strings"
)

// desc is what a prometheus.Desc says in its String form: the type keeps its fields to itself.
type desc struct {
	name, help string
	labels     []string // constant ones first
}

// parseDesc reads Desc{fqName: "n", help: "h", unit: "u", constLabels: {a="1",b="2"}, variableLabels: {c,d}}.
// A form that it does not know is an error, so that an upgrade of the library cannot switch the rule off.
func parseDesc(s string) (desc, error) {
	p := parser{rest: s}
	var d desc
	p.lit("Desc{fqName: ")
	d.name = p.quoted()
	p.lit(", help: ")
	d.help = p.quoted()
	p.lit(", unit: ")
	p.quoted()
	p.lit(", constLabels: {")
	for !p.failed && !strings.HasPrefix(p.rest, "}") {
		name, rest, ok := strings.Cut(p.rest, "=")
		p.failed = p.failed || !ok
		d.labels = append(d.labels, name)
		p.rest = rest
		p.quoted()
		p.rest = strings.TrimPrefix(p.rest, ",")
	}
	p.lit("}, variableLabels: {")
	list, ok := strings.CutSuffix(p.rest, "}}")
	if p.failed || !ok {
		return desc{}, fmt.Errorf("metric description %s has a form unknown to obs: adapt parseDesc", s)
	}
	if list == "" {
		return d, nil
	}
	for l := range strings.SplitSeq(list, ",") {
		if inner, ok := strings.CutPrefix(l, "c("); ok { // a label with a constraint
			l = strings.TrimSuffix(inner, ")")
		}
		d.labels = append(d.labels, l)
	}
	return d, nil
}

type parser struct {
	rest   string
	failed bool
}

func (p *parser) lit(s string) {
	rest, ok := strings.CutPrefix(p.rest, s)
	p.rest, p.failed = rest, p.failed || !ok
}

func (p *parser) quoted() string {
	q, err := strconv.QuotedPrefix(p.rest)
	if err != nil {
		p.failed = true
		return ""
	}
	p.rest = p.rest[len(q):]
	s, err := strconv.Unquote(q)
	p.failed = p.failed || err != nil
	return s
}

package obs

import (
	"fmt"
	"strconv"
	"strings"
)

// desc holds the fields of a prometheus.Desc, which exports them by its String method only.
type desc struct {
	name, help string
	labels     []string // constant labels first
}

// parseDesc reads Desc{fqName: "n", help: "h", unit: "u", constLabels: {a="1",b="2"},
// variableLabels: {c,d}}. An unknown form is an error, so that an upgrade of the library cannot
// disable the naming rule.
func parseDesc(s string) (desc, error) {
	p := parser{rest: s}
	var d desc
	p.literal("Desc{fqName: ")
	d.name = p.quoted()
	p.literal(", help: ")
	d.help = p.quoted()
	p.literal(", unit: ")
	p.quoted()
	p.literal(", constLabels: {")
	for !p.failed && !strings.HasPrefix(p.rest, "}") {
		name, rest, ok := strings.Cut(p.rest, "=")
		p.failed = p.failed || !ok
		d.labels = append(d.labels, name)
		p.rest = rest
		p.quoted()
		p.rest = strings.TrimPrefix(p.rest, ",")
	}
	p.literal("}, variableLabels: {")
	list, ok := strings.CutSuffix(p.rest, "}}")
	if p.failed || !ok {
		return desc{}, fmt.Errorf("metric description %s has an unknown form: adapt obs.parseDesc to the version of client_golang", s)
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

// parser consumes rest from the front.
type parser struct {
	rest   string
	failed bool
}

func (p *parser) literal(s string) {
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

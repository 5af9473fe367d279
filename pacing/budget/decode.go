package budget

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/pacing/plan"
)

// Decode reads a document in JSON: see the package documentation. The version may be absent. Its
// error is of type Problems, and has every problem of a document that is JSON.
func Decode(b []byte) (*Document, error) {
	n, err := parseJSON(b)
	if err != nil {
		return nil, Problems{{Text: err.Error()}}
	}
	r := &reader{}
	d := r.document(n)
	before := len(r.list)
	d.validate(&r.problems)
	r.list = append(r.list[:before], slices.DeleteFunc(r.list[before:], r.known)...)
	if err := r.err(); err != nil {
		return nil, err
	}
	d.normalize()
	if n := recordSize(d); n > MaxBytes {
		return nil, Problems{{Text: fmt.Sprintf(
			"the record of the document has %d bytes: the maximum is %d: remove campaigns and flights that have ended", n, MaxBytes)}}
	}
	return d, nil
}

// reader makes a document of JSON values.
type reader struct {
	problems
	unread []string // paths of fields that could not be read: they have no further problems
}

// known reports whether a problem follows from a field that could not be read.
func (r *reader) known(p Problem) bool {
	return slices.ContainsFunc(r.unread, func(path string) bool {
		rest, ok := strings.CutPrefix(p.Path, path)
		return ok && (path == "" || rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// fail adds the problem of a field that cannot be read.
func (r *reader) fail(path, format string, args ...any) {
	r.add(path, format, args...)
	r.unread = append(r.unread, path)
}

// object is a JSON object whose fields are taken one by one.
type object struct {
	r     *reader
	path  string
	names []string // of fields that can be taken
	node
}

// object reads an object. rest reports the fields that were not taken.
func (r *reader) object(n node, path string) *object {
	o := &object{r: r, path: path, node: n}
	if n.kind != "object" {
		r.fail(path, "it is %s, and has to be an object in braces", article(n.kind))
		o.node = node{}
	}
	return o
}

func article(kind string) string {
	if kind == "object" || kind == "array" {
		return "an " + kind
	}
	if kind == "null" || kind == "true or false" {
		return kind
	}
	return "a " + kind
}

func (o *object) at(name string) string {
	if o.path == "" {
		return name
	}
	return o.path + "." + name
}

// take returns a field; false: it is absent.
func (o *object) take(name string) (node, bool) {
	o.names = append(o.names, name)
	at := slices.Index(o.node.names, name)
	if at < 0 {
		return node{}, false
	}
	if slices.Contains(o.node.names[at+1:], name) {
		o.r.fail(o.at(name), "the field occurs twice: keep one of them")
	}
	return o.values[at], true
}

// text returns a field that is a string, "" if it is absent.
func (o *object) text(name string) string {
	n, ok := o.take(name)
	if ok && n.kind != "string" {
		o.r.fail(o.at(name), "it is %s, and has to be text in quotes", article(n.kind))
		return ""
	}
	return n.text
}

// decimal returns a field that is a decimal number in quotes, in millionths; false: it is absent or
// cannot be read.
func (o *object) decimal(name string) (int64, bool) {
	n, ok := o.take(name)
	if !ok {
		return 0, false
	}
	if n.kind != "string" {
		o.r.fail(o.at(name), "it is %s, and has to be a decimal number in quotes, such as \"12.50\"", article(n.kind))
		return 0, false
	}
	v, err := parseDecimal(n.text)
	if err != nil {
		o.r.fail(o.at(name), "%v", err)
	}
	return v, err == nil
}

// each calls fn for the elements of a field that is an array, and may be absent.
func (o *object) each(name string, fn func(n node, path string)) {
	n, ok := o.take(name)
	if ok && n.kind != "array" {
		o.r.fail(o.at(name), "it is %s, and has to be a list in brackets", article(n.kind))
		return
	}
	for i, v := range n.values {
		fn(v, fmt.Sprintf("%s[%d]", o.at(name), i))
	}
}

// rest adds a problem for each field that was not taken.
func (o *object) rest() {
	reported := map[string]bool{}
	for _, name := range o.node.names {
		if !slices.Contains(o.names, name) && !reported[name] {
			reported[name] = true
			o.r.fail(o.at(name), "the field is not known: use one of %s", strings.Join(o.names, ", "))
		}
	}
}

func (r *reader) document(n node) *Document {
	o := r.object(n, "")
	d := &Document{Account: o.text("account")}
	d.Version = o.version()
	d.Zone, d.Currency = o.text("time_zone"), o.text("currency")
	d.EffectiveMs = o.time("effective_from", d.Zone)
	if d.Plan = o.text("plan"); d.Plan == "" && slices.Contains(o.node.names, "plan") {
		r.add("plan", "it is empty: leave it out for %s", PlanLearnt)
	}
	o.each("shared", func(n node, path string) {
		o := r.object(n, path)
		d.Shared = append(d.Shared, Shared{ID: o.text("id"), Parent: o.text("parent"), Limit: o.limit()})
		o.rest()
	})
	o.each("campaigns", func(n node, path string) {
		o := r.object(n, path)
		c := Campaign{ID: o.text("campaign"), Shared: o.text("shared"), Limit: o.limit()}
		o.each("arms", func(n node, path string) {
			o := r.object(n, path)
			arm := Arm{ID: o.text("arm")}
			share, ok := o.decimal("share")
			if ok && (share < 1 || share > PPM) {
				share = 0 // validate reports it
			}
			arm.PPM = int32(share)
			o.rest()
			c.Arms = append(c.Arms, arm)
		})
		o.rest()
		d.Campaigns = append(d.Campaigns, c)
	})
	o.rest()
	return d
}

// version returns the version, 0 if it is absent. It may be in quotes, as protobuf's JSON has
// integers of 64 bits.
func (o *object) version() uint64 {
	n, ok := o.take("version")
	if !ok {
		return 0
	}
	v, err := strconv.ParseUint(n.text, 10, 64)
	if err != nil || v == 0 || n.kind != "number" && n.kind != "string" {
		o.r.fail(o.at("version"), "it has to be a positive integer: correct it, or leave it out for the next version")
		return 0
	}
	return v
}

// time returns a time in Unix ms: that of RFC 3339, or the begin of a day.
func (o *object) time(name, zoneName string) int64 {
	text := o.text(name)
	if text == "" {
		if slices.Contains(o.node.names, name) && !slices.Contains(o.r.unread, o.at(name)) {
			o.r.fail(o.at(name), "it is empty: leave it out for at once")
		}
		return 0
	}
	if day, err := events.ParseDay(text); err == nil {
		loc, err := zone(zoneName)
		if err != nil { // the zone is a problem of its own
			return 0
		}
		w, _ := plan.DayWindow(day, loc)
		return w.BeginMs
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		o.r.fail(o.at(name), "%q is not a time: write a day as 2006-01-02, or a time as 2006-01-02T15:04:05+01:00", text)
		return 0
	}
	return t.UnixMilli()
}

// limit returns the budget among the fields of a campaign or of a shared budget.
func (o *object) limit() (l Limit) {
	for _, k := range []Kind{Daily, Lifetime, AverageDaily} {
		if !slices.Contains(o.node.names, k.String()) {
			o.names = append(o.names, k.String())
			continue
		}
		micros, _ := o.decimal(k.String())
		if l.Kind != None {
			o.r.add(o.at(k.String()), "the budget has %s and %s: keep one of them", l.Kind, k)
			continue
		}
		l.Kind, l.Micros = k, micros
	}
	if factor, ok := o.decimal("cap"); ok {
		l.CapPPM = int32(max(1, min(factor, 3*PPM))) // validate reports what is out of range
	}
	o.each("flights", func(n node, path string) {
		f := o.r.object(n, path)
		l.Flights = append(l.Flights, Flight{f.day("begin"), f.day("end")})
		f.rest()
	})
	if l.Controller = o.text("controller"); l.Controller == "" && slices.Contains(o.node.names, "controller") {
		o.r.add(o.at("controller"), "it is empty: leave it out for ratio")
	}
	return l
}

// day returns a day. An end that is absent is NoEnd.
func (o *object) day(name string) events.Day {
	text := o.text(name)
	if text == "" && name == "end" && !slices.Contains(o.node.names, name) {
		return NoEnd
	}
	d, err := events.ParseDay(text)
	if err != nil {
		o.r.add(o.at(name), "%q is not a calendar day from 1970 to 9999: write it as 2006-01-02", text)
		o.r.unread = append(o.r.unread, o.path)
	}
	return d
}

package budget

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // for machines without zone files
	"unicode/utf8"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/pacing/control"
)

// zone returns the time zone with an IANA name. Package time has two further names: "" for UTC, and
// "Local" for the zone of the machine, which no other machine knows. The files of a machine have
// more: links to its own zone, and the zones with leap seconds.
func zone(name string) (*time.Location, error) {
	switch first, _, _ := strings.Cut(strings.ToLower(name), "/"); first {
	case "", "local", "localtime", "posixrules", "factory", "posix", "right":
		return nil, fmt.Errorf("%q is not the name of a time zone", name)
	}
	return time.LoadLocation(name)
}

// Location returns the time zone of a valid document.
func (d *Document) Location() (*time.Location, error) { return zone(d.Zone) }

// validate adds the problems of d, which may be in any order.
func (d *Document) validate(p *problems) {
	checkID(p, "account", d.Account)
	if d.Version > MaxVersion {
		p.add("version", "%d is greater than %d: use a smaller number, such as the next one or Unix milliseconds", d.Version,
			int64(MaxVersion))
	}
	if _, err := zone(d.Zone); err != nil {
		p.add("time_zone", "%q is not a time zone: use an IANA name such as Europe/Berlin or UTC", d.Zone)
	}
	if _, err := events.ParseCurrency(d.Currency); err != nil {
		p.add("currency", "%v", err)
	}
	if d.Plan != "" && d.Plan != PlanLearnt && d.Plan != PlanEven {
		p.add("plan", "%q is not known: use %s or %s", d.Plan, PlanLearnt, PlanEven)
	}
	if d.EffectiveMs < 0 || events.UTCDay(d.EffectiveMs) == 0 {
		p.add("effective_from", "the time is outside of the years 1970 to 9999")
	}
	if len(d.Campaigns) == 0 {
		p.add("campaigns", "the account has no campaign: to stop its campaigns, list them with an amount of 0")
	}
	if len(d.Campaigns) > MaxCampaigns || len(d.Shared) > MaxShared {
		p.add("", "%d campaigns and %d shared budgets: the maximum is %d and %d: remove those that have ended and are not below a shared budget", len(d.Campaigns),
			len(d.Shared), MaxCampaigns, MaxShared)
		return
	}
	parents := d.validateShared(p)
	seen := map[string]bool{}
	for i := range d.Campaigns {
		path := fmt.Sprintf("campaigns[%d]", i)
		c := &d.Campaigns[i]
		checkID(p, path+".campaign", c.ID)
		if seen[c.ID] {
			p.add(path+".campaign", "campaign %q is in the document twice: keep one of them", c.ID)
		}
		seen[c.ID] = true
		if _, ok := parents[c.Shared]; c.Shared != "" && !ok {
			p.add(path+".shared", "the document has no shared budget %q: add it, or correct the id", c.Shared)
		}
		if c.Limit.Kind == None && c.Shared == "" {
			p.add(path, "campaign %q has no budget: give it daily, lifetime, average_daily, or a shared budget", c.ID)
		}
		c.Limit.validate(p, path)
		validateArms(p, path, c.Arms)
	}
}

// validateShared adds the problems of the shared budgets, and returns the parents of all.
func (d *Document) validateShared(p *problems) map[string]string {
	parents := map[string]string{}
	for i := range d.Shared {
		path := fmt.Sprintf("shared[%d]", i)
		s := &d.Shared[i]
		checkID(p, path+".id", s.ID)
		if _, twice := parents[s.ID]; twice {
			p.add(path+".id", "shared budget %q is in the document twice: keep one of them", s.ID)
		}
		parents[s.ID] = s.Parent
		if s.Limit.Kind == None {
			p.add(path, "shared budget %q has no amount: give it daily, lifetime or average_daily", s.ID)
		}
		s.Limit.validate(p, path)
	}
	for i := range d.Shared {
		s := &d.Shared[i]
		path := fmt.Sprintf("shared[%d].parent", i)
		if _, ok := parents[s.Parent]; s.Parent != "" && !ok {
			p.add(path, "the document has no shared budget %q: add it, or correct the id", s.Parent)
		}
		steps := 0
		for at := s.Parent; at != ""; at = parents[at] {
			if steps++; at == s.ID {
				p.add(path, "shared budget %q is above itself: remove one of the parents", s.ID)
				break
			}
			if steps > len(parents) { // a cycle above it, which its own members report
				break
			}
		}
	}
	return parents
}

// validate adds the problems of a budget at path.
func (l *Limit) validate(p *problems, path string) {
	switch {
	case l.Kind < None || l.Kind > AverageDaily:
		p.add(path, "budget kind %d is not known: this version of weir has daily, lifetime and average_daily", l.Kind)
	case l.Kind == None && (l.Micros != 0 || len(l.Flights) > 0):
		p.add(path, "it has flights or an amount without a kind: give it daily, lifetime or average_daily")
	case l.Micros < 0:
		p.add(path+"."+l.Kind.String(), "the amount is negative: use 0 to stop, or a positive number")
	case l.Micros > MaxMicros:
		p.add(path+"."+l.Kind.String(), "the amount is greater than %s: correct it", events.FormatMicros(MaxMicros, 0))
	}
	switch {
	case l.Kind != AverageDaily && l.CapPPM != 0:
		p.add(path+".cap", "only a budget with average_daily has a cap: remove it")
	case l.Kind == AverageDaily && (l.CapPPM < PPM || l.CapPPM > 2*PPM):
		p.add(path+".cap", "a budget with average_daily needs a cap from 1.0 to 2.0: the most of a day, as a multiple of the average")
	}
	if _, ok := control.Named(l.Controller); l.Controller != "" && !ok {
		p.add(path+".controller", "%q is not known: use %s", l.Controller, control.Names())
	} else if l.Kind == None && ok {
		p.add(path+".controller", "it paces an amount, which is missing: add daily, lifetime or average_daily, or remove it")
	}
	if len(l.Flights) > MaxFlights {
		p.add(path+".flights", "%d flights: the maximum is %d: join some; to remove one from a lifetime budget, lower the amount by what it has spent", len(l.Flights), MaxFlights)
		return
	}
	for i, f := range l.Flights {
		at := fmt.Sprintf("%s.flights[%d]", path, i)
		switch {
		case !f.Begin.Valid() || !f.End.Valid():
			p.add(at, "begin and end are not both days: write them as 2006-01-02")
			continue
		case f.End < f.Begin:
			p.add(at, "the flight ends on %s, before it begins on %s: exchange or correct them", f.End, f.Begin)
			continue
		}
		for j, other := range l.Flights[:i] {
			if f.Begin <= other.End && other.Begin <= f.End {
				p.add(at, "the flight has days in common with flights[%d]: join the two", j)
				break
			}
		}
	}
}

// validateArms adds the problems of the arms of the campaign at path.
func validateArms(p *problems, path string, arms []Arm) {
	if len(arms) == 0 {
		return
	}
	if len(arms) > MaxArms {
		p.add(path+".arms", "%d arms: the maximum is %d", len(arms), MaxArms)
		return
	}
	sum, bad := int64(0), false
	seen := map[string]bool{}
	for i, a := range arms {
		at := fmt.Sprintf("%s.arms[%d]", path, i)
		checkID(p, at+".arm", a.ID)
		if seen[a.ID] {
			p.add(at+".arm", "arm %q is in the campaign twice: keep one of them", a.ID)
		}
		seen[a.ID] = true
		if a.PPM < 1 || a.PPM > PPM {
			bad = true
			p.add(at+".share", "the share has to be greater than 0, and at most 1: correct it, or remove the arm")
		}
		sum += int64(a.PPM)
	}
	if sum != PPM && !bad {
		p.add(path+".arms", "the shares add up to %s, not to 1: correct them", FormatPPM(sum))
	}
}

// checkID adds the problem of an id that no event can have.
func checkID(p *problems, path, id string) {
	switch {
	case id == "":
		p.add(path, "it is empty: write an id")
	case len(id) > MaxIDBytes:
		p.add(path, "it has %d bytes: the maximum is %d", len(id), MaxIDBytes)
	case !utf8.ValidString(id):
		p.add(path, "it is not UTF-8: encode ids as UTF-8 or in hexadecimal")
	case strings.IndexByte(id, 0) >= 0:
		p.add(path, "%q has a NUL byte: remove it", id)
	}
}

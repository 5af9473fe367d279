package backtest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/pacing/control"
	"github.com/weirhq/weir/pacing/plan"
)

// ErrInput is wrapped by every error about a recording, or about a Config that does not fit it.
var ErrInput = errors.New("backtest")

// Config is how campaigns are paced. Its zero value works.
type Config struct {
	// Location is the time zone of budget days. Defaults to UTC.
	Location *time.Location
	// Slot is the time for which a row is recorded: from its time on. It is a multiple of 10 s, and
	// divides a day. Defaults to 5 minutes.
	Slot time.Duration
	// BudgetShare is the budget of a campaign day as a share of what was recorded. Defaults to 0.5.
	BudgetShare float64
	// WholeDays makes the window of a campaign day the whole budget day within the flight of the
	// campaign. Without it the window is from the first to the last slot with a row on that day:
	// see Assumptions in the package documentation.
	WholeDays bool
	// BudgetMicros is the budget of every campaign day, in place of BudgetShare. Defaults to none.
	BudgetMicros float64
}

func (c *Config) check() error {
	if c.Location == nil {
		c.Location = time.UTC
	}
	if c.Slot == 0 {
		c.Slot = 5 * time.Minute
	}
	if c.BudgetShare == 0 {
		c.BudgetShare = 0.5
	}
	if c.Slot < control.Tick || c.Slot%control.Tick != 0 || 24*time.Hour%c.Slot != 0 {
		return fmt.Errorf("%w: a slot of %s: it is a multiple of %s that divides a day", ErrInput, c.Slot, control.Tick)
	}
	if !(c.BudgetShare > 0 && c.BudgetShare <= 100) || !(c.BudgetMicros >= 0 && c.BudgetMicros < 1e18) {
		return fmt.Errorf("%w: a budget of %g of the spend, or of %g micros", ErrInput, c.BudgetShare, c.BudgetMicros)
	}
	return nil
}

// Recording is what campaigns have spent. Its zero value is empty.
type Recording struct {
	times map[string][]Row
}

// Row is a recorded spend.
type Row struct {
	AtMs   int64 // begin of the slot, Unix milliseconds
	Micros float64
	Value  float64 // of what was bought, in any unit
}

// Add adds a row of a campaign. Rows may come in any order, and several for a slot.
func (r *Recording) Add(campaign string, row Row) {
	if r.times == nil {
		r.times = map[string][]Row{}
	}
	r.times[campaign] = append(r.times[campaign], row)
}

// Campaigns returns the number of campaigns.
func (r *Recording) Campaigns() int { return len(r.times) }

// Day is a campaign on a budget day.
type Day struct {
	Campaign string
	Day      events.Day
	Window   plan.Window
	Plan     plan.Plan
	Budget   float64 // micros
	Could    float64 // what could be spent, micros
	slots    []Row   // by time; those without spend are left out, and one may be of two days in part
	slotMs   int64
}

// Days returns the campaign days with spend, by day and campaign, with their budgets and plans. The
// error wraps ErrInput.
func (r *Recording) Days(cfg Config) ([]Day, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	var list []Day
	rows, least := 0, int64(math.MaxInt64) // time between two rows of a campaign
	for _, campaign := range slices.Sorted(maps.Keys(r.times)) {
		slots := bySlot(r.times[campaign], cfg.Slot.Milliseconds())
		for i := 1; i < len(slots); i++ {
			rows, least = rows+1, min(least, slots[i].AtMs-slots[i-1].AtMs)
		}
		days, err := cfg.split(campaign, slots)
		if err != nil {
			return nil, err
		}
		list = append(list, days...)
	}
	if rows >= fewRows && least > cfg.Slot.Milliseconds() {
		return nil, fmt.Errorf("%w: no two rows of a campaign are closer than %s, and a slot has %s", ErrInput,
			time.Duration(least)*time.Millisecond, cfg.Slot)
	}
	slices.SortStableFunc(list, func(a, b Day) int { return cmp.Compare(a.Day, b.Day) })
	cfg.learn(list)
	return list, nil
}

// fewRows is a number of rows that may all be far apart by chance.
const fewRows = 10

// bySlot returns the sums of rows by slot, in the order of time.
func bySlot(rows []Row, slotMs int64) (slots []Row) {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].AtMs -= (rows[i].AtMs%slotMs + slotMs) % slotMs
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(a.AtMs, b.AtMs) })
	for _, row := range rows {
		if n := len(slots); n > 0 && slots[n-1].AtMs == row.AtMs {
			slots[n-1].Micros += row.Micros
			slots[n-1].Value += row.Value
			continue
		}
		slots = append(slots, row)
	}
	return slots
}

// split returns the days of a campaign.
func (c *Config) split(campaign string, slots []Row) (days []Day, err error) {
	slotMs := c.Slot.Milliseconds()
	flight := plan.Window{BeginMs: slots[0].AtMs, EndMs: slots[len(slots)-1].AtMs + slotMs}
	for from := flight.BeginMs; len(slots) > 0; {
		d := Day{Campaign: campaign, Day: events.DayOf(from, c.Location), slotMs: slotMs}
		w, ok := plan.DayWindow(d.Day, c.Location)
		if !ok {
			return nil, fmt.Errorf("%w: campaign %s has a row outside the years 1970 to 9999", ErrInput, campaign)
		}
		d.Window = w.Cut(flight)
		n := 1 // the first one is of the day, also where DayWindow gives it to an earlier one
		for n < len(slots) && slots[n].AtMs < w.EndMs {
			n++
		}
		end := slots[n-1].AtMs + slotMs
		if !c.WholeDays {
			d.Window = d.Window.Cut(plan.Window{BeginMs: slots[0].AtMs, EndMs: end})
		}
		d.slots = slots[:n]
		if end > w.EndMs && w.EndMs > from { // the rest of the slot is of the next day
			n, from = n-1, w.EndMs
		} else if n < len(slots) {
			from = slots[n].AtMs
		}
		slots = slots[n:]
		for _, slot := range d.slots {
			d.Could += slot.Micros * d.part(slot.AtMs, d.Window)
		}
		d.Budget = c.BudgetShare * d.Could
		if c.BudgetMicros > 0 {
			d.Budget = c.BudgetMicros
		}
		if d.Could > 0 {
			days = append(days, d)
		}
	}
	return days, nil
}

// part returns the share of the slot at a time that is in a window.
func (d *Day) part(atMs int64, w plan.Window) float64 {
	in := plan.Window{BeginMs: atMs, EndMs: atMs + d.slotMs}.Cut(w)
	return float64(in.EndMs-in.BeginMs) / float64(d.slotMs)
}

// learn sets the plans of days, each from the days before it.
func (c *Config) learn(days []Day) {
	own := map[string][]plan.Day{}
	var all []plan.Day // one for each budget day: the sum of its campaigns
	for from := 0; from < len(days); {
		parent, sum := plan.Learn(all, plan.Uniform()), plan.Day{Actions: plan.FullActions}
		to := from
		for ; to < len(days) && days[to].Day == days[from].Day; to++ {
			d := &days[to]
			d.Plan = plan.New(plan.Learn(own[d.Campaign], parent), d.Window, plan.Config{Location: c.Location})
		}
		for i := from; i < to; i++ {
			h := days[i].hours(c.Location)
			own[days[i].Campaign] = append(own[days[i].Campaign], h)
			add(&sum, &h, &parent)
		}
		all = append(all, sum)
		from = to
	}
}

// add adds a campaign day to the sum of its budget day. It is scaled to what the parent has for its
// minutes, so that a campaign with a large budget, or one that ran for an hour, counts for no more
// of an hour than any other.
func add(sum, h *plan.Day, parent *plan.Shape) {
	spent, of := 0.0, 0.0
	for hour, x := range h.Hours {
		spent += x.Micros
		of += parent[hour] * x.Minutes
	}
	if !(spent > 0) {
		return
	}
	for hour, x := range h.Hours {
		sum.Add(hour, x.Micros*(of/spent), x.Minutes)
	}
}

// hours returns what a plan learns from a day. The spend of a slot is spread over its time, of
// which the part in the window counts. The number of actions is not recorded: every day counts in
// full.
func (d *Day) hours(loc *time.Location) plan.Day {
	h := plan.Day{Actions: plan.FullActions}
	next := 0
	for ms := d.Window.BeginMs; ms < d.Window.EndMs; ms += tickMs {
		tick := plan.Window{BeginMs: ms, EndMs: min(ms+tickMs, d.Window.EndMs)}
		for next < len(d.slots) && d.slots[next].AtMs+d.slotMs <= ms {
			next++
		}
		micros := 0.0
		if next < len(d.slots) {
			micros = d.slots[next].Micros * d.part(d.slots[next].AtMs, tick)
		}
		h.Add(time.UnixMilli(ms).In(loc).Hour(), micros, float64(tick.EndMs-tick.BeginMs)/60_000)
	}
	return h
}

package selection

import (
	"fmt"
	"time"
)

// Mode is how far a reader may trust the chosen dataset.
type Mode int

// The modes.
const (
	// Normal: a dataset is chosen, and its health record is not stale.
	Normal Mode = iota
	// Degraded: all health records are stale. The best guess at a campaign's spend is the maximum
	// over the datasets, and its recent rate for the time since.
	Degraded
	// FailSafe: no health record is known, or the newest one is unusably old. Campaigns with a
	// budget are to stop.
	FailSafe
)

// String returns the name of the mode.
func (m Mode) String() string {
	return [...]string{"normal", "degraded", "fail_safe"}[m]
}

// Decision is what a reader uses for a shard.
type Decision struct {
	Mode   Mode
	DC     string // writer of the chosen dataset; empty unless Mode is Normal
	From   string // DC of the decision before; empty at first
	Reason string // why this dataset, a sentence without a full stop
	Shard  Shard  // the comparison
}

// Switched reports whether the decision is for another dataset than the one before, or for the
// first one. Between Degraded and FailSafe it is not: then neither has a dataset.
func (d *Decision) Switched() bool { return d.DC != d.From }

// Selector decides for one shard. It is made by New, and used by one goroutine at a time.
type Selector struct {
	cfg     Config
	order   []string  // datacentres in order of preference; the first is Local
	now     int       // index of the chosen dataset; -1: none
	reason  string    // of the choice
	bad     int       // evaluations in a row in which another dataset was better
	lossy   int       // of these, the last ones in which it was better for lost records alone
	healthy time.Time // since when Local is healthy without a break; zero: it is not
}

// New makes a Selector without a choice. Its error names the field of cfg to correct.
func New(cfg Config) (*Selector, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	return &Selector{cfg: cfg, order: cfg.order(), now: -1}, nil
}

// Decide evaluates the datasets of the shard, once a second. now is the reader's own clock. Missing
// datasets are left out of datasets, or have no Health.
func (s *Selector) Decide(now time.Time, datasets []Dataset) Decision {
	shard := s.assess(datasets)
	if local := &shard.Datasets[0]; !local.Healthy() {
		s.healthy = time.Time{}
	} else if s.healthy.IsZero() || now.Before(s.healthy) { // the clock was set back
		s.healthy = now
	}
	d := Decision{From: s.name(s.now), Shard: shard}
	if next, reason := s.next(now, &shard); next != s.now {
		s.now, s.reason, s.bad, s.lossy = next, reason, 0, 0
	}
	d.DC, d.Reason = s.name(s.now), s.reason
	if s.now < 0 {
		d.Mode, d.Reason = s.without(&shard)
	}
	return d
}

func (s *Selector) name(i int) string {
	if i < 0 {
		return ""
	}
	return s.order[i]
}

// next returns the dataset to use from now on, and why.
func (s *Selector) next(now time.Time, shard *Shard) (int, string) {
	if shard.Best < 0 {
		return -1, ""
	}
	best := &shard.Datasets[shard.Best]
	if s.now < 0 { // at first, or after no dataset was usable
		if shard.Best == 0 {
			return 0, best.DC + " is the own datacentre"
		}
		return shard.Best, why(&shard.Datasets[0], best)
	}
	current := &shard.Datasets[s.now]
	switch {
	case !current.Candidate:
		return shard.Best, why(current, best)
	case s.now == 0 && current.Healthy(), shard.Best == s.now,
		// Of datasets that are not healthy, the one that misses least changes by chance.
		!best.Healthy() && current.Misses()-best.Misses() < s.cfg.Deficit:
		s.bad, s.lossy = 0, 0
		return s.now, s.reason
	case current.Healthy(): // best is healthy too, and before it in order of preference
		if s.bad, s.lossy = 0, 0; shard.Best == 0 && now.Sub(s.healthy) >= s.cfg.ReturnAfter {
			return 0, fmt.Sprintf("%s has been healthy for %s", best.DC, s.cfg.ReturnAfter)
		}
		return s.now, s.reason
	}
	if !current.Fresh || !current.Complete {
		s.bad, s.lossy = s.bad+1, 0
	} else { // nothing more is missing since the records were lost
		s.bad, s.lossy = 0, s.lossy+1
	}
	if s.bad < s.cfg.LeaveAfter && s.lossy < int(s.cfg.ReturnAfter/time.Second) {
		return s.now, s.reason
	}
	return shard.Best, why(current, best)
}

// without returns the mode without a candidate, and why there is none.
func (s *Selector) without(shard *Shard) (Mode, string) {
	var newest *Assessment
	for i := range shard.Datasets {
		if a := &shard.Datasets[i]; a.Known && (newest == nil || a.Age < newest.Age) {
			newest = a
		}
	}
	switch {
	case newest == nil:
		return FailSafe, "no health record of any dataset is known"
	case newest.Age >= s.cfg.Unusable:
		return FailSafe, fmt.Sprintf("the newest health record is of %s, %s old: datasets are unusable after %s", newest.DC,
			seconds(newest.Age), s.cfg.Unusable)
	}
	return Degraded, fmt.Sprintf("the newest health record is of %s, %s old: datasets are stale after %s", newest.DC, seconds(newest.Age),
		s.cfg.Stale)
}

// why returns why a dataset that is not healthy is left for another one.
func why(bad, good *Assessment) string {
	text := bad.Problem()
	switch {
	case !bad.Candidate:
		return text
	case bad.Fresh && bad.Complete:
		text += fmt.Sprintf(", and %s %d", good.DC, good.Lost)
	}
	if !good.Healthy() {
		text += fmt.Sprintf(", and %s misses less", good.DC)
	}
	return text
}

// Problem returns why the dataset is not healthy, a sentence without a full stop; empty if it is
// healthy.
func (a *Assessment) Problem() string {
	switch {
	case !a.Known:
		return fmt.Sprintf("no health record of %s is known", a.DC)
	case !a.Candidate:
		return fmt.Sprintf("the health record of %s is %s old", a.DC, seconds(a.Age))
	case !a.Fresh && a.Never:
		return fmt.Sprintf("%s has no event of %s", a.DC, a.Origin)
	case !a.Fresh:
		return fmt.Sprintf("%s lags by %s in the events of %s", a.DC, seconds(a.Lag), a.Origin)
	case !a.Complete:
		return fmt.Sprintf("%s lacks %.0f %% of the events of the last 60 s", a.DC, 100*a.Deficit)
	case !a.Lossless:
		return fmt.Sprintf("%s has lost %d records", a.DC, a.Lost)
	}
	return ""
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

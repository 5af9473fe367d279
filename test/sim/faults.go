package sim

import "math/rand/v2"

// faults are the active faults of a scenario.
type faults struct {
	w      *simulation
	rng    *rand.Rand
	half   [len(regionNames)]int
	closed [len(regionNames)]bool // regions that are adopted or will be
	// adopts has the regions that adopt another region. The loss of such a region needs a decision
	// of an operator and is not simulated.
	adopts [len(regionNames)]bool
	off    [len(regionNames)]bool // regions without power
	active [faultKinds][len(regionNames)]int
}

// on reports whether a region has a fault now.
func (f *faults) on(k FaultKind, region int) bool { return f.active[k][region] > 0 }

// cut reports whether a region is cut off.
func (f *faults) cut(region int) bool {
	return f.on(CutRegion, region) || f.on(Adopt, region) && f.half[region] == 0
}

// copiesCut reports whether replication from and to a region is cut.
func (f *faults) copiesCut(region int) bool { return f.on(CutRegion, region) || f.on(Adopt, region) }

// inAnyRegion reports whether any region has a fault.
func (f *faults) inAnyRegion(k FaultKind) bool {
	for _, n := range f.active[k] {
		if n > 0 {
			return true
		}
	}
	return false
}

func (f *faults) plan() {
	f.rng = f.w.newRand("faults")
	for _, x := range f.w.s.Faults {
		x.To = min(x.To, f.w.s.Heal)
		if x.From >= x.To || x.Region >= f.w.s.Regions || x.Kind == Adopt && x.From+writeLeaseMs > f.w.s.Heal {
			continue
		}
		f.w.after(x.From, func() {
			f.active[x.Kind][x.Region]++
			if x.Half {
				f.half[x.Region]++
			}
			f.w.transcribe("FAULT", "%v", x)
			f.begin(x)
		})
		f.w.after(x.To, func() {
			f.active[x.Kind][x.Region]--
			if x.Half {
				f.half[x.Region]--
			}
			f.w.transcribe("FAULT", "%v in %s ends", x.Kind, regionNames[x.Region])
			f.end(x)
		})
	}
	f.w.after(f.w.s.Heal, func() { f.w.transcribe("FAULT", "all faults have ended") })
}

func (f *faults) begin(x Fault) {
	w := f.w
	switch x.Kind {
	case KillExecutor:
		f.whenBusy(x, w.executors[x.Region])
	case KillCore:
		f.repeat(x, func() { w.tasks[f.rng.IntN(len(w.tasks))].crash() })
	case KillAgents:
		f.repeat(x, func() {
			for _, a := range w.agents {
				if a.region == x.Region && f.rng.IntN(2) == 0 {
					a.crash()
				}
			}
		})
	case ReplayLog:
		f.repeat(x, func() { w.bridges[x.Region].replay() })
	case Evacuate:
		f.state(x.Region, "evacuating")
	case Adopt:
		f.adoptLost(x)
	case Settings:
		f.setting(w.poolRow(), func(s *settings) { s.quarantine, s.buckets = w.s.Quarantine+longer, max(1, w.s.Buckets-1) })
	default:
	}
}

// repeat runs do now and about once a second while a fault lasts.
func (f *faults) repeat(x Fault, do func()) {
	var once func()
	once = func() {
		if f.on(x.Kind, x.Region) {
			do()
			f.w.after(300+f.rng.Int64N(1500), once)
		}
	}
	once()
}

// whenBusy crashes an executor at random while it has commands.
func (f *faults) whenBusy(x Fault, e *executor) {
	var look func()
	look = func() {
		if !f.on(x.Kind, x.Region) {
			return
		}
		if len(e.rows) > 0 && f.rng.IntN(4) == 0 {
			e.crash()
		}
		f.w.after(1+f.rng.Int64N(30), look)
	}
	look()
}

func (f *faults) end(x Fault) {
	w := f.w
	switch x.Kind {
	case CutRegion, Adopt:
		if f.off[x.Region] && !f.on(Adopt, x.Region) {
			f.powerBack(x.Region)
		}
		if r := w.regions[x.Region]; !f.copiesCut(x.Region) {
			list := r.waiting
			r.waiting = nil
			for _, send := range list {
				send()
			}
		}
	case LoseRecord:
		w.bridges[x.Region].scan()
	case Evacuate:
		if !x.Forever {
			f.state(x.Region, "active")
		}
	default:
	}
}

// state writes a region's state through the home region.
func (f *faults) state(region int, state string) {
	f.setting(f.w.regionRow(region), func(s *settings) {
		if s.state != "adopted" {
			s.state = state
		}
	})
}

// setting changes a row of settings as soon as the home region answers.
func (f *faults) setting(id rowID, change func(*settings)) {
	if home := f.w.home; !f.off[home] {
		f.settingAt(home, id, change)
		return
	}
	f.w.after(500, func() { f.setting(id, change) })
}

func (f *faults) settingAt(home int, id rowID, change func(*settings)) {
	r := f.w.regions[home]
	s := r.items[id].settings
	s.version++
	change(&s)
	r.put(id, item{settings: s})
	f.w.h.settings(id, s.version)
}

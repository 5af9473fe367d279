package page

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events"
)

// Limits of the table of copies.
const (
	maxCopies   = 60
	behindAfter = 5 * time.Second // from this lag on, readers leave a dataset
)

// mirrorStatus is the command that shows what the mirror copies.
const mirrorStatus = "weir mirror status"

// CopyTable are the copies of other datacentres here, and those of this one in others.
type CopyTable struct {
	Rows []CopyLine
	More string // number of rows that are left out
	// MoreCommands show the rows that are left out.
	MoreCommands []string
	// NoMirror and NoPush: the process does not run the role, so it does not know its copies.
	NoMirror, NoPush bool
}

// CopyLine is a copy of a topic of a datacentre.
type CopyLine struct {
	Text     string // what is copied
	State    string // numbers of partitions
	Lag, Age string // greatest of a partition
	Well     bool   // all partitions are copied, and none is behind
	Why      string // first reason of the worst state
	Command  string // shows each partition

	partitions   int              // that have reported the copy
	by           [stopped + 1]int // numbers of partitions
	worst        copyState        // that has Why
	lag, ageMs   int64            // greatest
	noLag, noAge int              // numbers of partitions of which it is not known
}

// copyState is the state of the copying of a partition. A greater one is worse.
type copyState int

const (
	copying    copyState = iota
	unreported           // the partition runs, and has not reported the copy yet
	unknown              // a figure, or the whole partition: its process does not answer
	notRunning
	behind
	comparing // rows and their copy
	waiting   // it continues by itself
	stopped   // until an operator acts
)

// add adds a partition.
func (l *CopyLine) add(s copyState, why string) {
	l.by[s]++
	if why != "" && (l.Why == "" || s > l.worst) {
		l.worst, l.Why = s, why
	}
}

// addUnreported adds a partition that has not reported the copy.
func (l *CopyLine) addUnreported(p *weirpb.Partition) {
	switch p.GetState() {
	case stateRunning:
		l.add(unreported, "")
	case stateRemote:
		l.add(unknown, p.GetReason())
	default:
		l.add(notRunning, p.GetReason())
	}
}

// copyReport is what a partition reports of a copy.
type copyReport struct {
	stopped            bool   // until an operator acts
	problem, comparing string // why it waits, or why rows and their copy are compared; empty: neither
	lag, ageMs         int64  // in records and in time, negative if not known
}

// report adds a partition with its report.
func (l *CopyLine) report(r copyReport) {
	state := copying
	switch {
	case r.stopped:
		state = stopped
	case r.problem != "":
		state = waiting
	case r.comparing != "":
		state = comparing
	case r.ageMs >= behindAfter.Milliseconds():
		state = behind
	case r.lag < 0 || r.ageMs < 0:
		state = unknown
	}
	l.add(state, cmp.Or(r.problem, r.comparing))
	l.partitions++
	if r.lag < 0 {
		l.noLag++
	}
	if r.ageMs < 0 {
		l.noAge++
	}
	l.lag, l.ageMs = max(l.lag, r.lag), max(l.ageMs, r.ageMs)
}

// finish sets the texts.
func (l *CopyLine) finish(verb string) {
	all := 0
	for _, n := range l.by {
		all += n
	}
	l.Well = l.by[copying] == all && all > 0
	parts := []string{of(l.by[copying]+l.by[behind], all) + " " + verb}
	for s, text := range [...]string{
		behind: "behind", comparing: "comparing", waiting: "waiting", stopped: "stopped", notRunning: "not running",
		unknown: "not known yet", unreported: "not reported yet",
	} {
		if text != "" && l.by[s] > 0 {
			parts = append(parts, count(l.by[s])+" "+text)
		}
	}
	l.State = strings.Join(parts, ", ")
	l.Lag, l.Age = bound(count(l.lag), l.noLag, l.partitions), bound(duration(float64(l.ageMs)/1000), l.noAge, l.partitions)
}

// bound returns the greatest figure of some partitions, of which some are not known.
func bound(text string, unknown, all int) string {
	switch {
	case unknown == all:
		return "unknown"
	case unknown > 0:
		return "at least " + text
	}
	return text
}

// Copies returns the table of copies.
func (d *Datacentres) Copies() (t CopyTable) {
	push := "push." + d.DC + "."
	t.NoMirror = !slices.ContainsFunc(d.o.Apps, isMirror)
	t.NoPush = !slices.ContainsFunc(d.o.Apps, func(app string) bool { return strings.HasPrefix(app, push) })
	t.Rows = append(d.mirrored(t.NoMirror), d.pushed(push)...)
	if n := len(t.Rows) - maxCopies; n > 0 {
		for _, l := range t.Rows[maxCopies:] {
			t.MoreCommands = append(t.MoreCommands, l.Command)
		}
		t.MoreCommands = slices.Compact(t.MoreCommands)
		t.More, t.Rows = count(n), t.Rows[:maxCopies]
	}
	return t
}

// CopyProblem is why copies are not well.
type CopyProblem struct {
	Copies       []string
	Why, Command string
	Stopped      bool // an operator has to act
}

// Problems returns the reasons of copies that are not well, each once.
func (t CopyTable) Problems() (list []CopyProblem) {
	for _, l := range t.Rows {
		if l.Well || l.Why == "" {
			continue
		}
		i := slices.IndexFunc(list, func(p CopyProblem) bool { return p.Why == l.Why && p.Command == l.Command })
		if i < 0 {
			i = len(list)
			list = append(list, CopyProblem{Why: l.Why, Command: l.Command})
		}
		list[i].Copies = append(list[i].Copies, l.Text)
		list[i].Stopped = list[i].Stopped || l.by[stopped] > 0
	}
	return list
}

func isMirror(app string) bool { return events.IsAnyGenerationOf(app, events.MirrorApp) }

// copyKey is what a mirror copies: a topic of a datacentre.
type copyKey struct{ dc, topic string }

// mirrored returns a line for each topic of each other datacentre.
func (d *Datacentres) mirrored(none bool) (list []CopyLine) {
	lines := map[copyKey]*CopyLine{}
	if !none {
		for _, dc := range d.ring() {
			if dc != d.DC {
				lines[copyKey{dc, ""}] = &CopyLine{Text: "events of " + dc, Command: mirrorStatus}
			}
		}
	}
	var partitions []*weirpb.Partition
	for _, p := range d.o.Partitions.GetPartitions() {
		if !isMirror(p.GetApp()) || p.GetState() == stateStandby {
			continue
		}
		partitions = append(partitions, p)
		for _, c := range p.GetCopies() {
			delete(lines, copyKey{c.GetDc(), ""}) // its topics are known
			lines[copyKey{c.GetDc(), c.GetTopic()}] = &CopyLine{Text: c.GetTopic() + " of " + c.GetDc(), Command: mirrorStatus}
		}
	}
	ring := d.ring()
	keys := slices.SortedFunc(maps.Keys(lines), func(a, b copyKey) int { // events come before adjustments
		return cmp.Or(cmp.Compare(slices.Index(ring, a.dc), slices.Index(ring, b.dc)), cmp.Compare(a.dc, b.dc),
			cmp.Compare(b.topic, a.topic))
	})
	for _, k := range keys {
		for _, p := range partitions {
			lines[k].addCopy(p, k)
		}
		lines[k].finish("copied")
		list = append(list, *lines[k])
	}
	return list
}

// addCopy adds what a partition of a mirror has of a copy.
func (l *CopyLine) addCopy(p *weirpb.Partition, k copyKey) {
	i := slices.IndexFunc(p.GetCopies(), func(c *weirpb.CopyStatus) bool { return c.GetDc() == k.dc && c.GetTopic() == k.topic })
	if i < 0 {
		l.addUnreported(p)
		return
	}
	c := p.GetCopies()[i]
	l.report(copyReport{stopped: c.GetStopped(), problem: c.GetProblem(), lag: lagOf(c), ageMs: c.GetLagMs()})
}

// position is the position of a copy or of a push.
type position interface {
	GetNext() int64
	GetEnd() int64
	GetLag() int64
}

// lagOf returns the lag of a copy in records, -1 if it is not known.
func lagOf(c position) int64 {
	if c.GetEnd() < 0 || c.GetNext() < 0 {
		return -1
	}
	return c.GetLag()
}

// pushed returns a line for each datacentre into which this one writes its dataset. prefix is that
// of the names of the applications.
func (d *Datacentres) pushed(prefix string) (list []CopyLine) {
	var apps []string
	lines := map[string]*CopyLine{}
	for _, p := range d.o.Partitions.GetPartitions() {
		target, is := strings.CutPrefix(p.GetApp(), prefix)
		if !is || p.GetState() == stateStandby {
			continue
		}
		l := lines[p.GetApp()]
		if l == nil {
			target, _, _ = strings.Cut(target, ".") // without the generation
			l = &CopyLine{Text: "dataset of " + d.DC + " into " + target, Command: "weir push status"}
			apps, lines[p.GetApp()] = append(apps, p.GetApp()), l
		}
		s := p.GetPush()
		if s == nil {
			l.addUnreported(p)
			continue
		}
		age := int64(-1)
		if s.GetAsOfMs() > 0 {
			age = max(0, d.o.Now.UnixMilli()-s.GetAsOfMs())
		}
		l.report(copyReport{stopped: s.GetStopped(), problem: s.GetProblem(), comparing: s.GetComparing(), lag: lagOf(s), ageMs: age})
	}
	for _, app := range apps {
		lines[app].finish("written")
		list = append(list, *lines[app])
	}
	return list
}

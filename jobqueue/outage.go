package jobqueue

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// FactorKind is the kind of a Factor.
type FactorKind uint8

// The kinds of factors. Of equally good explanations the first kind is preferred.
const (
	ResourceFactor  FactorKind = iota // the job requires or prefers the resource
	SignatureFactor                   // the job requires and prefers the same resources
	AgentFactor                       // the agent
	HeldFactor                        // the agent has the resource
	QueueFactor                       // all jobs of the queue
)

// String returns the name of k, as in events.
func (k FactorKind) String() string {
	return [...]string{"resource", "signature", "agent", "agent_resource", "queue"}[min(k, QueueFactor)]
}

// Factor is what attempts that failed have in common, in the attempts since the outage began.
type Factor struct {
	Kind        FactorKind
	Name        string // of the resource or the agent; of a signature its resources; empty: the queue
	Failed      int    // attempts with the factor that failed
	Ended       int    // attempts with the factor that ended
	OtherFailed int    // the same without the factor
	OtherEnded  int
	Score       float64 // G statistic (log-likelihood ratio) of the difference; 0 if others fail as often
}

// String returns the factor and its attempts, such as "resource gpu: 9 of 9 failed, 1 of 214
// without it".
func (f *Factor) String() string {
	name := f.subject()
	if f.Kind == QueueFactor {
		return fmt.Sprintf("%s: %d of %d failed", name, f.Failed, f.Ended)
	}
	return fmt.Sprintf("%s: %d of %d failed, %d of %d without it", name, f.Failed, f.Ended, f.OtherFailed, f.OtherEnded)
}

// subject returns the kind and the name, as text.
func (f *Factor) subject() string {
	switch f.Kind {
	case HeldFactor:
		return "agents with " + f.Name
	case QueueFactor:
		return f.Kind.String()
	default:
		return f.Kind.String() + " " + f.Name
	}
}

// factor identifies a factor.
type factor struct {
	kind     FactorKind
	resource uint32 // of ResourceFactor and HeldFactor
	name     string // of AgentFactor; of SignatureFactor the key
}

// recentAttempt is an attempt that has ended.
type recentAttempt struct {
	signature       string   // key
	require, prefer []uint32 // of the job
	agent           string
	held            []uint32 // resources that the agent declares
	failed          bool
}

// factors calls fn for each factor of the attempt. deep: also for the resources of its agent.
func (x *recentAttempt) factors(deep bool, fn func(factor)) {
	fn(factor{kind: QueueFactor})
	for _, list := range [2][]uint32{x.require, x.prefer} {
		for _, r := range list {
			fn(factor{kind: ResourceFactor, resource: r})
		}
	}
	if len(x.require)+len(x.prefer) > 1 {
		fn(factor{kind: SignatureFactor, name: x.signature})
	}
	fn(factor{kind: AgentFactor, name: x.agent})
	if deep {
		for _, r := range x.held {
			fn(factor{kind: HeldFactor, resource: r})
		}
	}
}

// has reports whether the attempt has a factor.
func (x *recentAttempt) has(f factor) (yes bool) {
	x.factors(true, func(g factor) { yes = yes || f == g })
	return yes
}

// Bounds of the detection of outages.
const (
	// recentAttempts is how many attempts are compared to name an outage.
	recentAttempts = 1024
	// outageAt is the log-likelihood ratio at which an outage is detected: if the usual share is
	// known and failures are independent events, the mean time between two false alarms is above
	// exp(28) = 1.4e12 attempts of a factor.
	outageAt = 28
	// leastBase is the least share of failed attempts that is usual, and mostBase the greatest. An
	// outage is a share halfway from the usual one to all.
	leastBase, mostBase = 0.02, 0.6
	// prior is how many attempts leastBase counts for a new factor, and memory is the number of
	// attempts over which a usual share is averaged.
	prior, memory = 64, 1024
	// namedAt is the G statistic from which on a factor is distinct from the other attempts: p <
	// 0.0001 for one degree of freedom.
	namedAt = 15.1
	// unnamedAfter is the number of attempts after which a name is not waited for any more.
	unnamedAfter = 48
	// habit is the number of attempts over which an outage becomes the usual share.
	habit = 4096
	// outageQuiet is the time without an attempt after which an outage is over, in ms.
	outageQuiet = 10 * minute
	// maxTracks limits the factors that are watched.
	maxTracks = 200_000
	// maxFactors is the number of factors of an alarm.
	maxFactors = 5
)

// track watches the attempts of a factor by a cumulative sum (Page 1954) of log-likelihood ratios.
type track struct {
	sum   float64 // 0 to outageAt
	usual         // with the attempts since sum left 0
	was   usual   // before them
	since uint64  // number of the attempt at which sum left 0
	ended int     // attempts since then
	bad   int     // those of them that failed
}

// usual is the usual share of failed attempts.
type usual struct {
	base float64
	n    float64 // attempts over which it is averaged, with prior
}

// add adds an attempt to an average over most attempts at most.
func (u *usual) add(failed bool, most float64) {
	x := 0.0
	if failed {
		x = 1
	}
	u.n = min(u.n+1, most)
	u.base += (x - u.base) / u.n
}

// add adds an attempt. least is the usual share of all attempts.
func (t *track) add(failed bool, number uint64, least float64) {
	base := min(max(t.base, least, leastBase), mostBase)
	if t.sum == 0 {
		t.since, t.ended, t.bad, t.was = number, 0, 0, t.usual
	}
	t.ended++
	if failed {
		t.bad++
		t.sum = min(outageAt, t.sum+math.Log((1+base)/(2*base)))
	} else {
		t.sum = max(0, t.sum-math.Ln2)
	}
}

// reset forgets the attempts since the sum left 0.
func (t *track) reset() {
	if t.sum > 0 {
		t.sum, t.usual = 0, t.was
	}
}

// outage is an outage that is not over.
type outage struct {
	factor
	track track
	last  int64 // time of its last attempt, Unix ms
	alarm Alarm
}

// judge takes an attempt that has ended into account. Attempts that an outage explains count for
// that outage only.
func (m *monitor) judge(q *Queue, x recentAttempt) {
	failed := x.failed
	number := m.n
	m.n++
	if len(m.ended) < recentAttempts {
		m.ended = append(m.ended, x)
	} else {
		m.ended[number%recentAttempts] = x
	}
	for i, o := range m.outages {
		if !x.has(o.factor) {
			continue
		}
		o.last = q.now
		o.track.add(failed, number, 0)
		o.track.usual.add(failed, habit)
		if o.track.sum == 0 {
			m.outages = slices.Delete(m.outages, i, i+1)
			m.over(&o.alarm, q.now)
			m.track(o.factor).usual = o.track.usual
		}
		return
	}
	var crossed []factor
	least := m.track(factor{kind: QueueFactor}).base
	x.factors(false, func(f factor) {
		t := m.track(f)
		t.add(failed, number, least)
		if t.usual.add(failed, memory); t.sum == outageAt {
			crossed = append(crossed, f)
		}
	})
	if len(crossed) > 0 {
		m.detect(q, crossed)
	}
	if len(m.tracks) > maxTracks {
		clear(m.tracks)
	}
}

// seen renews the outages that an attempt is about which does not count.
func (m *monitor) seen(x *recentAttempt, now int64) {
	for _, o := range m.outages {
		if x.has(o.factor) {
			o.last = now
		}
	}
}

// track returns the track of a factor.
func (m *monitor) track(f factor) *track {
	t := m.tracks[f]
	if t == nil {
		t = &track{usual: usual{leastBase, prior}}
		m.tracks[f] = t
	}
	return t
}

// detect raises the alarm of an outage, after the sums of some factors have reached the bound. If
// no factor is distinct from the others yet, it waits for further attempts.
func (m *monitor) detect(q *Queue, crossed []factor) {
	slices.SortFunc(crossed, func(a, b factor) int { // the one with the most failures first
		return cmp.Or(cmp.Compare(m.tracks[b].bad, m.tracks[a].bad), cmp.Compare(a.kind, b.kind), cmp.Compare(a.resource, b.resource))
	})
	since := m.tracks[crossed[0]].since
	for _, f := range crossed {
		since = min(since, m.tracks[f].since)
	}
	list, ended := m.explain(q, since)
	named := len(list) > 0 && list[0].Score >= namedAt && m.n-since <= recentAttempts
	if !named {
		if ended < unnamedAfter && m.n-since <= recentAttempts {
			return
		}
		list = m.prefer(q, crossed, list)
	}
	best := list[0]
	o := &outage{factor: best.factor, track: *m.track(best.factor), last: q.now}
	o.track.sum, o.track.usual = outageAt, o.track.was
	o.alarm = Alarm{Kind: OutageAlarm, SinceMs: q.now, AtMs: q.now, Active: true, Subject: best.subject()}
	for _, f := range list[:min(len(list), maxFactors)] {
		o.alarm.Factors = append(o.alarm.Factors, f.Factor)
	}
	o.alarm.Text = "outage of " + best.String()
	m.outages = append(m.outages, o)
	m.news = append(m.news, o.alarm)
	for _, t := range m.tracks { // what they have seen may be this outage
		t.reset()
	}
}

// prefer returns the factors with the one first that has crossed: the queue, if it has, or the one
// with the most failures. The attempts since a rare factor began to fail may not be in the ring.
func (m *monitor) prefer(q *Queue, crossed []factor, list []ranked) []ranked {
	f := crossed[0]
	if i := slices.IndexFunc(crossed, func(f factor) bool { return f.kind == QueueFactor }); i >= 0 {
		f = crossed[i]
	}
	t := m.tracks[f]
	best := ranked{Factor{Kind: f.kind, Name: q.factorName(f), Failed: t.bad, Ended: t.ended}, f}
	if i := slices.IndexFunc(list, func(x ranked) bool { return x.Kind == QueueFactor }); i >= 0 && f.kind != QueueFactor {
		best.OtherFailed, best.OtherEnded = max(0, list[i].Failed-t.bad), max(0, list[i].Ended-t.ended)
		best.Score = gStatistic(&best.Factor)
	}
	list = slices.DeleteFunc(list, func(x ranked) bool { return x.factor == f })
	return slices.Insert(list, 0, best)
}

// ranked is a factor with its identity.
type ranked struct {
	Factor
	factor
}

// explain returns the factors of the attempts since one, best explanation first, and the number of
// these attempts. Those that an outage explains are left out.
func (m *monitor) explain(q *Queue, since uint64) (list []ranked, ended int) {
	if m.n > recentAttempts {
		since = max(since, m.n-recentAttempts)
	}
	at := map[factor]int{}
	failed := 0
	for n := since; n < m.n; n++ {
		x := &m.ended[n%recentAttempts]
		if slices.ContainsFunc(m.outages, func(o *outage) bool { return x.has(o.factor) }) {
			continue
		}
		ended++
		if x.failed {
			failed++
		}
		x.factors(true, func(f factor) {
			i, ok := at[f]
			if !ok {
				i = len(list)
				at[f] = i
				list = append(list, ranked{Factor{Kind: f.kind, Name: q.factorName(f)}, f})
			}
			if list[i].Ended++; x.failed {
				list[i].Failed++
			}
		})
	}
	for i := range list {
		f := &list[i].Factor
		f.OtherEnded, f.OtherFailed = ended-f.Ended, failed-f.Failed
		f.Score = gStatistic(f)
	}
	slices.SortFunc(list, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return list, ended
}

// factorName returns the name of a factor.
func (q *Queue) factorName(f factor) string {
	switch f.kind {
	case ResourceFactor, HeldFactor:
		return q.sigs.names[f.resource]
	case SignatureFactor:
		n, ok := q.sigs.byKey[f.name]
		if !ok {
			return ""
		}
		row := &q.sigs.rows[n]
		return strings.Join(q.sigs.namesOf(slices.Concat(row.require, row.prefer)), " ")
	default:
		return f.name
	}
}

// gStatistic returns the G statistic of the table of failures with and without a factor: 0 if
// attempts with the factor do not fail more often.
func gStatistic(f *Factor) float64 {
	with, without := float64(f.Ended), float64(f.OtherEnded)
	a, b := float64(f.Failed), float64(f.OtherFailed)
	if without == 0 || with == 0 || a*without <= b*with {
		return 0
	}
	n, failed := with+without, a+b
	term := func(observed, of, share float64) float64 {
		if observed == 0 {
			return 0
		}
		return observed * math.Log(observed/(of*share))
	}
	share := failed / n
	return 2 * (term(a, with, share) + term(with-a, with, 1-share) + term(b, without, share) + term(without-b, without, 1-share))
}

// quiet ends the outages of which there was no attempt for long.
func (m *monitor) quiet(now int64) {
	m.outages = slices.DeleteFunc(m.outages, func(o *outage) bool {
		if now-o.last < outageQuiet {
			return false
		}
		m.over(&o.alarm, now)
		return true
	})
}

// over reports that what an alarm is about is over.
func (m *monitor) over(a *Alarm, now int64) {
	a.Active, a.AtMs, a.Text = false, now, "over: "+a.Text
	m.news = append(m.news, *a)
}

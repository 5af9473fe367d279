package page

import (
	"slices"
	"time"

	"github.com/weirhq/weir/api/weirpb"
)

// Overview is the content of the first page. A part that could not be read has an error in its
// field of Errors, and no content.
type Overview struct {
	Now     time.Time
	Started time.Time // of the process; zero: not known
	Host    string    // as the browser reached it
	Base    string    // URL of the data listener
	OpsBase string    // URL of the ops listener
	// TokenNeeded: callers of the API need a token.
	TokenNeeded bool
	Ready       bool
	Reasons     []string // why the process is not ready
	Stopped     []string // partitions of the process that are stopped until an operator acts
	Apps        []string // that run in this process
	Cluster     *weirpb.GetClusterResponse
	Partitions  *weirpb.ListPartitionsResponse
	// CountsSpend: the process has the spend counter, whose figures follow.
	CountsSpend bool
	Day         string // budget day of Top and Charged, YYYY-MM-DD
	Top         []*weirpb.SpendRow
	Charged     []Charge
	Health      *weirpb.ListHealthResponse
	// HasCache: the process has a spend cache. Datasets are those of each shard that it has
	// evaluated.
	HasCache bool
	Datasets []*weirpb.ShardDatasets
	// Pacing is nil in a process that does not pace.
	Pacing *PacingStatus
	// Jobs is nil in a process without job queues.
	Jobs *Jobs
	// Leases is nil without a role of the lease loop.
	Leases *Leases
	// Rejected is by application.
	Rejected []Rejected
	Errors   Errors
}

// Errors are the reasons why parts of an Overview could not be read.
type Errors struct{ Cluster, Partitions, Top, Health, Datasets string }

// Charge is the money charged on a budget day in a currency.
type Charge struct {
	Currency string
	Micros   int64
}

// Rejected are the unresolved dead letters of an application.
type Rejected struct {
	Sampled

	App     string
	Reasons []Reason // the most frequent first
	Unread  int64    // greater than 0: the topic has so many records, which were not read
}

// Sampled is about a part of a page that is read in the background.
type Sampled struct {
	At  time.Time // when it was read; zero: not yet
	Err string    // why it could not be read
}

// Reason is the number of dead letters with a reason.
type Reason struct {
	Reason string
	Count  int
}

// none reports whether the application is known to have no dead letter.
func (r Rejected) none() bool {
	return r.Err == "" && !r.At.IsZero() && r.Unread == 0 && len(r.Reasons) == 0
}

// RejectedRecords returns the applications that have dead letters, or may have some.
func (o *Overview) RejectedRecords() []Rejected {
	return slices.DeleteFunc(slices.Clone(o.Rejected), Rejected.none)
}

// RejectedNone returns the names of the applications without dead letters.
func (o *Overview) RejectedNone() (apps []string) {
	for _, r := range o.Rejected {
		if r.none() {
			apps = append(apps, r.App)
		}
	}
	return apps
}

// Total returns the number of dead letters.
func (r Rejected) Total() string {
	n := 0
	for _, reason := range r.Reasons {
		n += reason.Count
	}
	return count(n)
}

// Number returns the number of dead letters with the reason.
func (r Reason) Number() string { return count(r.Count) }

// UnreadNumber returns Unread with separators.
func (r Rejected) UnreadNumber() string { return count(r.Unread) }

// Updated returns the time of day of the page.
func (o *Overview) Updated() string { return o.Now.UTC().Format(time.TimeOnly) }

// Up returns the time since the start of the process, empty if it is not known.
func (o *Overview) Up() string {
	if o.Started.IsZero() {
		return ""
	}
	return span(o.Now.Sub(o.Started))
}

// Today reports whether Day is the day of the page.
func (o *Overview) Today() bool { return o.Day == o.Now.UTC().Format(time.DateOnly) }

// ChargedText returns the money of each currency.
func (o *Overview) ChargedText() (list []string) {
	micros := make([]int64, len(o.Charged))
	for i, c := range o.Charged {
		micros[i] = c.Micros
	}
	need := places(micros...)
	for _, c := range o.Charged {
		list = append(list, money(c.Micros, need)+" "+c.Currency)
	}
	return list
}

// Rate returns the events per second of the last minute, with duplicates.
func (o *Overview) Rate() string { return rate(o.sum((*weirpb.ShardHealth).GetApproxCount)) }

// LastMinute returns the number of events of the last 60 s, with duplicates.
func (o *Overview) LastMinute() string { return count(o.sum((*weirpb.ShardHealth).GetApproxCount)) }

// Counted returns the number of events of all time, without duplicates.
func (o *Overview) Counted() string { return count(o.sum((*weirpb.ShardHealth).GetCumulativeCount)) }

// Lost returns the number of lost events, empty if none is lost.
func (o *Overview) Lost() string {
	if n := o.sum((*weirpb.ShardHealth).GetLost); n > 0 {
		return count(n)
	}
	return ""
}

func (o *Overview) sum(figure func(*weirpb.ShardHealth) uint64) (n uint64) {
	for _, s := range o.Health.GetShards() {
		n += figure(s)
	}
	return n
}

// topRows is the number of campaigns of each currency on the page.
const topRows = 20

// Rankings returns the first campaigns of each currency.
func (o *Overview) Rankings() (list []Ranking) {
	for rows := o.Top; len(rows) > 0; {
		n := 1
		for n < len(rows) && rows[n].GetCurrency() == rows[0].GetCurrency() {
			n++
		}
		list = append(list, Ranking{rows[0].GetCurrency(), newTable(rows[:min(n, topRows)])})
		rows = rows[n:]
	}
	return list
}

// Ranking is the first campaigns of a currency.
type Ranking struct {
	Currency string
	Table
}

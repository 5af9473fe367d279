package page

import (
	"cmp"

	"github.com/weirhq/weir/api/weirpb"
)

// Limits of the lists of partitions.
const (
	behindRecords = 10_000 // a partition with such a lag is an exception
	maxExceptions = 50
	maxFolded     = 200
)

// States of a task. The first two are those of one that works as it should.
const (
	stateRunning = "running"
	stateStandby = "standby"
	stateRemote  = "elsewhere" // the process that owns it does not answer, or no process owns it
)

// Application is the state of the partitions of an application.
type Application struct {
	Name       string
	running    int
	owned      int
	standbys   int
	maxLag     int64
	unknownLag int
	lag        string // of a sum of applications
	processes  map[string]bool
	exceptions []*weirpb.Partition
	all        []*weirpb.Partition
}

// Applications returns the applications in the order of the list of partitions.
func (o *Overview) Applications() (list []*Application) {
	for _, p := range o.Partitions.GetPartitions() {
		if len(list) == 0 || list[len(list)-1].Name != p.GetApp() {
			list = append(list, &Application{Name: p.GetApp(), processes: map[string]bool{}})
		}
		list[len(list)-1].add(p)
	}
	return list
}

func (a *Application) add(p *weirpb.Partition) {
	a.all = append(a.all, p)
	a.processes[p.GetInstance()] = true
	if p.GetState() == stateStandby {
		a.standbys++
		return
	}
	a.owned++
	if p.GetState() == stateRunning {
		a.running++
	}
	if p.Lag == nil {
		a.unknownLag++
	}
	a.maxLag = max(a.maxLag, p.GetLag())
	if p.GetState() != stateRunning || p.GetLag() >= behindRecords {
		a.exceptions = append(a.exceptions, p)
	}
}

// Running and Owned are the numbers of partitions that run, and of all partitions.
func (a *Application) Running() string { return count(a.running) }

// Owned returns the number of partitions.
func (a *Application) Owned() string { return count(a.owned) }

// Well reports whether all partitions run without a lag to look at.
func (a *Application) Well() bool { return len(a.exceptions) == 0 }

// Standbys returns the number of standbys, empty without standbys.
func (a *Application) Standbys() string {
	if a.standbys == 0 {
		return ""
	}
	return count(a.standbys)
}

// Lag returns the greatest lag of a partition, empty if the application knows no lag, as an
// executor.
func (a *Application) Lag() string {
	switch {
	case a.lag != "":
		return a.lag
	case a.unknownLag == a.owned:
		return ""
	case a.unknownLag > 0:
		return "at least " + count(a.maxLag)
	}
	return count(a.maxLag)
}

// PartitionList is a list of partitions, and the number of those that it leaves out.
type PartitionList struct {
	Rows      []PartitionRow
	More      string
	Processes bool // the rows differ in their process
	Reasons   bool
}

// PartitionRow is a partition of a PartitionList.
type PartitionRow struct {
	Partition                   int32
	Process, State, Lag, Reason string
	Bad                         bool
}

// Exceptions returns the partitions that an operator looks at.
func (a *Application) Exceptions() PartitionList { return a.list(a.exceptions, maxExceptions) }

// All returns all partitions, with standbys.
func (a *Application) All() PartitionList { return a.list(a.all, maxFolded) }

func (a *Application) list(parts []*weirpb.Partition, most int) (l PartitionList) {
	l.Processes = len(a.processes) > 1
	if n := len(parts) - most; n > 0 {
		l.More, parts = count(n), parts[:most]
	}
	for _, p := range parts {
		r := PartitionRow{
			Partition: p.GetPartition(), Process: p.GetInstance(), State: p.GetState(), Lag: "unknown", Reason: p.GetReason(),
			Bad: p.GetState() != stateRunning && p.GetState() != stateStandby,
		}
		if p.Lag != nil {
			r.Lag = count(p.GetLag())
		}
		if left := p.GetRestore(); left.GetRecords() > 0 && r.Reason == "" {
			r.Reason = count(left.GetRecords()) + " records left to read"
		}
		l.Reasons = l.Reasons || r.Reason != ""
		l.Rows = append(l.Rows, r)
	}
	return l
}

// AllPartitions returns the sums over the applications.
func (o *Overview) AllPartitions() *Application {
	all := &Application{}
	lags := &Application{}
	for _, a := range o.Applications() {
		all.running, all.owned, all.standbys = all.running+a.running, all.owned+a.owned, all.standbys+a.standbys
		all.exceptions = append(all.exceptions, a.exceptions...)
		if a.unknownLag < a.owned {
			lags.owned, lags.unknownLag, lags.maxLag = lags.owned+a.owned, lags.unknownLag+a.unknownLag, max(lags.maxLag, a.maxLag)
		}
	}
	all.lag = cmp.Or(lags.Lag(), "unknown")
	return all
}

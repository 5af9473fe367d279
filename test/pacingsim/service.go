//go:build synctests

package pacingsim

import (
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/control"
	"github.com/weirhq/weir/pacing/pack"
)

// service is the pacing service of a datacentre: its state is what it has written.
type service struct {
	simulation *simulation
	dc         int
	lag        time.Duration // of the spend
	account    *pack.Account // nil: it is down
	versions   budget.Versions
	believes   bool

	mu    sync.Mutex
	packs map[int]*eventspb.AccountPack // that were written
}

// setBudgets sets another version of the budgets.
func (s *service) setBudgets(d *budget.Document) {
	s.versions = s.versions.Add(d)
	if s.account != nil {
		s.account.SetVersions(s.versions)
	}
}

// tick has the tick of a second in which the faults of active are.
func (s *service) tick(second int, active map[Kind]Fault) {
	if _, down := active[Down]; down {
		s.account = nil
		return
	}
	if s.account == nil {
		s.account = pack.New(account, control.NewPacer(control.Config{}))
		s.account.SetVersions(s.versions)
		s.account.Restore(s.written())
	}
	now := time.Now().UnixMilli()
	q, ok := s.account.Prepare(now)
	if !ok {
		return
	}
	x := pack.Signals{AtMs: now, Query: q, Dataset: s.name()}
	seen := second - int(s.lag.Seconds())
	if f, stale := active[Stale]; stale {
		seen = min(seen, int(f.From.Seconds()))
	}
	if _, x.Unread = active[Unread]; !x.Unread {
		if x.AgeMs = int64(second-seen) * 1000; s.believes {
			x.AgeMs = s.lag.Milliseconds()
		}
		s.simulation.read(seen, q)
	}
	for _, part := range s.account.Step(&x) {
		m := s.account.Pack(part)
		m.WriterDc = s.name()
		s.mu.Lock()
		s.packs[part] = proto.CloneOf(m)
		s.mu.Unlock()
		if _, unheard := active[Unheard]; !unheard && !s.simulation.drifts {
			s.simulation.sent = append(s.simulation.sent, sent{second + packSeconds, s, proto.CloneOf(m)})
		}
	}
}

// sent is a pack on its way to the other datacentres.
type sent struct {
	arrives int // second
	from    *service
	pack    *eventspb.AccountPack
}

// deliver delivers the packs that arrive in a second.
func (w *simulation) deliver(second int) {
	for len(w.sent) > 0 && w.sent[0].arrives <= second {
		for _, s := range w.services {
			if s != w.sent[0].from && s.account != nil {
				s.account.Observe(w.sent[0].pack)
			}
		}
		w.sent = w.sent[1:]
	}
}

func (s *service) name() string { return fmt.Sprint("dc", s.dc) }

// written returns what was written.
func (s *service) written() (list []*eventspb.AccountPack) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for part := range len(s.packs) {
		list = append(list, s.packs[part])
	}
	return list
}

// read adds the spend by the end of a second.
func (w *simulation) read(second int, q pack.Query) {
	for _, c := range w.campaigns {
		row := pack.Row{Campaign: c.ID, Day: q.Day, Currency: currency}
		if second >= 0 && second < len(c.history) {
			for i, m := range c.history[second] {
				row.Micros += m
				if c.Arms != nil {
					row.Arms = append(row.Arms, pack.ArmSpend{Arm: c.arms[i], Micros: m})
				}
			}
		}
		q.Sums.AddToday(&row)
	}
}

package reconcile

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weirhq/weir/events"
)

// CampaignDay is what is charged on one budget day to a campaign.
type CampaignDay struct {
	Account, Campaign string
	Day               events.Day
	Currency          string
}

// compare orders campaign days by account, day, campaign and currency.
func (d CampaignDay) compare(o CampaignDay) int {
	return cmp.Or(cmp.Compare(d.Account, o.Account), cmp.Compare(d.Day, o.Day), cmp.Compare(d.Campaign, o.Campaign),
		cmp.Compare(d.Currency, o.Currency))
}

// String returns the campaign day as text.
func (d CampaignDay) String() string {
	return fmt.Sprintf("campaign %s of %s on %s in %s", d.Campaign, d.Account, d.Day, d.Currency)
}

// Sum is a number of events and the sum of their prices.
type Sum struct {
	Events uint64
	Micros int64
}

// Statement has the sums of a billing file, and those of the counter. Its zero value is empty.
type Statement struct {
	days map[CampaignDay]*[2]Sum // of the file, of the counter
	// recent has some of days by their slot: to compare a campaign day takes less than to hash it.
	recent [slots]struct {
		CampaignDay
		sums *[2]Sum
	}
}

// slots is the number of campaign days in Statement.recent: a power of 2.
const slots = 4096

// slot returns the place of a campaign day in Statement.recent. Ids often differ at their ends.
func (d *CampaignDay) slot() uint32 {
	h := uint32(d.Day)
	for i := max(0, len(d.Campaign)-4); i < len(d.Campaign); i++ {
		h = h*31 + uint32(d.Campaign[i])
	}
	return h % slots
}

func (s *Statement) of(d CampaignDay) *[2]Sum {
	recent := &s.recent[d.slot()]
	if recent.sums != nil && recent.CampaignDay == d {
		return recent.sums
	}
	if s.days == nil {
		s.days = map[CampaignDay]*[2]Sum{}
	}
	sums := s.days[d]
	if sums == nil {
		sums = &[2]Sum{}
		s.days[d] = sums
	}
	recent.CampaignDay, recent.sums = d, sums
	return sums
}

// Add adds an event of the file. The error is that a sum does not fit int64.
func (s *Statement) Add(d CampaignDay, micros int64) error {
	file := &s.of(d)[0]
	sum, ok := events.AddMicros(file.Micros, micros)
	if !ok {
		return fmt.Errorf("the sum of %v is over %d units: check the unit of the prices", d, file.Micros/1e6)
	}
	file.Events, file.Micros = file.Events+1, sum
	return nil
}

// Count sets what the counter has charged to a campaign day, before refunds.
func (s *Statement) Count(d CampaignDay, counted Sum) { s.of(d)[1] = counted }

// Accounts returns the accounts, in order.
func (s *Statement) Accounts() (list []string) {
	seen := map[string]bool{}
	for d := range s.days {
		if !seen[d.Account] {
			seen[d.Account] = true
			list = append(list, d.Account)
		}
	}
	slices.Sort(list)
	return list
}

// Days returns the first and the last budget day; zero if there is none.
func (s *Statement) Days() (first, last events.Day) {
	for d := range s.days {
		if first == 0 || d.Day < first {
			first = d.Day
		}
		last = max(last, d.Day)
	}
	return first, last
}

// Totals returns the number of campaign days and the sums of the file by currency.
func (s *Statement) Totals() (days int, sums map[string]Sum) {
	sums = map[string]Sum{}
	for d, pair := range s.days {
		if pair[0].Events == 0 {
			continue
		}
		days++
		sum := sums[d.Currency]
		sums[d.Currency] = Sum{sum.Events + pair[0].Events, sum.Micros + pair[0].Micros}
	}
	return days, sums
}

// Difference is a campaign day of which file and counter have other charges.
type Difference struct {
	CampaignDay
	File, Counted Sum
}

// Differences returns the campaign days with other charges, in the order of account, day, campaign
// and currency. counts includes those of which only the numbers of events differ: a file with the
// charged events alone lacks those without a price.
func (s *Statement) Differences(counts bool) (list []Difference) {
	for d, sums := range s.days {
		if sums[0].Micros != sums[1].Micros || counts && sums[0].Events != sums[1].Events {
			list = append(list, Difference{d, sums[0], sums[1]})
		}
	}
	slices.SortFunc(list, func(x, y Difference) int { return x.compare(y.CampaignDay) })
	return list
}

package reconcile

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"github.com/weirhq/weir/events"
)

// ErrTooMany is returned when more than Matcher.Max events have to be kept.
var ErrTooMany = errors.New("too many events to compare one by one")

// Event is an event of the file or of the log.
type Event struct {
	ID string
	CampaignDay
	Micros int64
}

// Place is where an event is in the log.
type Place struct {
	Topic     string
	Partition int32
	Offset    int64
}

// Kind is what a Finding is.
type Kind string

// Kinds of findings.
const (
	OnlyInFile Kind = "only_in_file" // no event of the log has the id
	OnlyInLog  Kind = "only_in_log"  // no row of these campaign days in the file has the id
	Price      Kind = "price"        // the prices differ
	Day        Kind = "campaign_day" // the account is the same; campaign, budget day or currency differ
	Twice      Kind = "twice"        // further rows of the file have the id
)

// Finding is an event that explains a difference.
type Finding struct {
	Kind      Kind
	ID        string
	Line      int   // of the file; 0: not in the file
	Place     Place // in the log; of the copy that was read first
	File, Log Event // empty if it is not there
}

// Matcher compares events of campaign days one by one. Several goroutines may add events.
type Matcher struct {
	// Max is the maximum of different events that are kept, at some 300 bytes each.
	Max int
	// Part and Parts select events by a hash of account and id, so that more events than Max are
	// compared in several passes: those of Part, from 0, of Parts. Default to all events.
	Part, Parts int
	days        map[CampaignDay]bool
	campaigns   map[string]bool     // of days
	mu          sync.Mutex          // of what follows
	seen        map[[2]string]*pair // by account and id
	more        []Finding           // rows whose id an earlier row has
}

type pair struct {
	line      int
	place     Place
	file, log *Event
}

// NewMatcher returns a Matcher for campaign days that differ.
func NewMatcher(limit int, list []CampaignDay) *Matcher {
	m := &Matcher{Max: limit, Parts: 1, days: map[CampaignDay]bool{}, campaigns: map[string]bool{}, seen: map[[2]string]*pair{}}
	for _, d := range list {
		m.days[d], m.campaigns[d.Campaign] = true, true
	}
	return m
}

// skips reports whether an event is not one of those to compare.
func (m *Matcher) skips(e *Event) bool {
	if !m.days[e.CampaignDay] {
		return true
	}
	return m.Parts > 1 && int(events.EventHash([]byte(e.Account), []byte(e.ID))%uint64(m.Parts)) != m.Part
}

// Wants reports whether events of a campaign day are compared. A caller need not give others.
func (m *Matcher) Wants(d CampaignDay) bool { return m.days[d] }

// WantsCampaign reports whether events of a campaign may be compared: it takes less than Wants.
func (m *Matcher) WantsCampaign(campaign []byte) bool { return m.campaigns[string(campaign)] }

func (m *Matcher) of(e *Event) (*pair, error) {
	key := [2]string{e.Account, e.ID}
	p := m.seen[key]
	if p == nil {
		if len(m.seen) >= m.Max {
			return nil, ErrTooMany
		}
		p = &pair{}
		m.seen[key] = p
	}
	return p, nil
}

// File adds the event of a row of the file, whose number is line. It keeps nothing of other
// campaign days.
func (m *Matcher) File(line int, e Event) error {
	if m.skips(&e) {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p, err := m.of(&e)
	if err != nil {
		return err
	}
	if p.file != nil {
		m.more = append(m.more, Finding{Kind: Twice, ID: e.ID, Line: line, File: e})
		return nil
	}
	p.line, p.file = line, &e
	return nil
}

// Log adds an event of the log. Copies of an event in several topics are one.
func (m *Matcher) Log(at Place, e Event) error {
	if m.skips(&e) {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p, err := m.of(&e)
	if err != nil {
		return err
	}
	if p.log == nil {
		p.place, p.log = at, &e
	}
	return nil
}

// Findings returns what was found, in the order of Sort.
func (m *Matcher) Findings() []Finding {
	list := slices.Clone(m.more)
	for key, p := range m.seen {
		f := Finding{ID: key[1], Line: p.line, Place: p.place}
		switch {
		case p.log == nil:
			f.Kind, f.File = OnlyInFile, *p.file
		case p.file == nil:
			f.Kind, f.Log = OnlyInLog, *p.log
		case p.file.Micros != p.log.Micros:
			f.Kind, f.File, f.Log = Price, *p.file, *p.log
		case p.file.CampaignDay != p.log.CampaignDay:
			f.Kind, f.File, f.Log = Day, *p.file, *p.log
		default:
			continue
		}
		list = append(list, f)
	}
	Sort(list)
	return list
}

// Sort orders findings by line of the file, then what only the log has, by its place.
func Sort(list []Finding) {
	slices.SortFunc(list, func(x, y Finding) int {
		return cmp.Or(
			cmp.Compare(min(1, y.Line), min(1, x.Line)), cmp.Compare(x.Line, y.Line), cmp.Compare(x.Place.Topic, y.Place.Topic),
			cmp.Compare(x.Place.Partition, y.Place.Partition), cmp.Compare(x.Place.Offset, y.Place.Offset), cmp.Compare(x.ID, y.ID))
	})
}

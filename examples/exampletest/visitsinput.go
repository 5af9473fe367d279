package exampletest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/stream"
)

const (
	visitGapMs   = 30 * 60_000
	visitParts   = 6
	visitKills   = 5
	visitUsers   = 300
	visitsSpanMs = 110 * 60_000 // in which the views are
	closingMs    = 170 * 60_000 // of the views after which all visits have ended
)

// visit is a visit that the views of a user make.
type visit struct {
	times   []int64  // of its views, Unix ms
	country []string // that it may have in the output
}

func (v visit) lastMs() int64 { return v.times[len(v.times)-1] }

// visitInput are the records of a run, and what they make.
type visitInput struct {
	beginMs int64
	users   []string // those that topic users gets
	closers []string // one of each partition, whose last visit stays open
	views   []*kgo.Record
	reasons map[*kgo.Record]string // of the views that are rejected
	visits  map[string][]visit     // by user, in the order of their times
}

// newVisitInput makes views of some hours ago: a real broker refuses times in the future. Gaps
// between views are random, and often exactly those at which a visit ends or does not.
func newVisitInput(rng *rand.Rand) *visitInput {
	in := &visitInput{beginMs: time.Now().Add(-3 * time.Hour).UnixMilli(), reasons: map[*kgo.Record]string{}, visits: map[string][]visit{}}
	for i := range visitUsers {
		user := fmt.Sprintf("user-%d", i)
		in.users = append(in.users, user)
		in.viewsOf(rng, user)
	}
	for i := 0; len(in.closers) < visitParts; i++ {
		user := fmt.Sprintf("closer-%d", i)
		if stream.Murmur2([]byte(user), visitParts) == int32(len(in.closers)) {
			in.users, in.closers = append(in.users, user), append(in.closers, user)
			in.visits[user] = []visit{{times: []int64{in.beginMs + closingMs}}}
		}
	}
	in.addWrong(rng)
	slices.SortStableFunc(in.views, func(a, b *kgo.Record) int { return a.Timestamp.Compare(b.Timestamp) })
	return in
}

// viewsOf adds the views of a user.
func (in *visitInput) viewsOf(rng *rand.Rand, user string) {
	at, last := in.beginMs+rng.Int64N(20*60_000), int64(-visitGapMs)
	for at < in.beginMs+visitsSpanMs {
		in.view(at, user, `{"page":"/"}`)
		if list := in.visits[user]; at-last < visitGapMs {
			list[len(list)-1].times = append(list[len(list)-1].times, at)
		} else {
			in.visits[user] = append(list, visit{times: []int64{at}})
		}
		last = at
		switch rng.IntN(10) {
		case 0:
			at += visitGapMs - 1
		case 1:
			at += visitGapMs
		case 2:
			at += visitGapMs + rng.Int64N(20*60_000)
		default:
			at += rng.Int64N(10 * 60_000)
		}
	}
}

func (in *visitInput) view(atMs int64, user, value string) *kgo.Record {
	r := &kgo.Record{Topic: "views", Key: []byte(user), Value: []byte(value), Timestamp: time.UnixMilli(atMs)}
	in.views = append(in.views, r)
	return r
}

// addWrong adds views that are rejected, one for 20 others.
func (in *visitInput) addWrong(rng *rand.Rand) {
	for i := range len(in.views) / 20 {
		user := in.users[rng.IntN(len(in.users))]
		r := in.view(in.beginMs+rng.Int64N(visitsSpanMs), user, `{"page":"/"}`)
		switch i % 5 {
		case 0:
			r.Value, in.reasons[r] = []byte(`{"page":`), "undecodable"
		case 1:
			r.Value, in.reasons[r] = []byte(`{}`), "no_page"
		case 2:
			r.Value, in.reasons[r] = nil, "no_value"
		case 3:
			r.Key, in.reasons[r] = nil, "unknown_user"
		case 4:
			r.Key, in.reasons[r] = fmt.Appendf(nil, "ghost-%d", i%10), "unknown_user"
		}
	}
}

// moved returns every second user: they move from at to be.
func (in *visitInput) moved() (list []string) {
	for i := 0; i < visitUsers; i += 2 {
		list = append(list, in.users[i])
	}
	return list
}

// settle sets the countries that each visit may have. Users moved after the views up to sentMs had
// been sent, and no later view was sent before all of them had moved: a visit that no view up to
// sentMs can have ended has the new country.
func (in *visitInput) settle(sentMs int64) {
	moved := in.moved()
	for user, list := range in.visits {
		for i := range list {
			switch {
			case !slices.Contains(moved, user):
				list[i].country = []string{"at"}
			case list[i].lastMs()+visitGapMs > sentMs:
				list[i].country = []string{"be"}
			default:
				list[i].country = []string{"at", "be"}
			}
		}
	}
}

// openVisit is an element of the answer to GET /query/open/USER.
type openVisit struct {
	FirstMs int64 `json:"first_ms"`
	LastMs  int64 `json:"last_ms"`
	Value   int   `json:"value"`
}

// impossible returns why a user cannot have these open visits, whatever part of the views up to
// sentMs was processed; "" if the user can.
func (in *visitInput) impossible(user string, open []openVisit, sentMs int64) string {
	if !slices.IsSortedFunc(open, func(a, b openVisit) int { return cmp.Compare(a.FirstMs, b.FirstMs) }) || len(open) == 0 {
		return "the list is empty, or not in the order of the times"
	}
	for _, o := range open {
		i := slices.IndexFunc(in.visits[user], func(v visit) bool { return v.times[0] == o.FirstMs })
		switch {
		case i < 0:
			return fmt.Sprintf("no visit begins at %d", o.FirstMs)
		case o.Value < 1 || o.Value > len(in.visits[user][i].times):
			return fmt.Sprintf("the visit of %d has %d views", o.FirstMs, len(in.visits[user][i].times))
		case in.visits[user][i].times[o.Value-1] != o.LastMs:
			return fmt.Sprintf("view %d of the visit of %d is at %d", o.Value, o.FirstMs, in.visits[user][i].times[o.Value-1])
		case o.LastMs > sentMs:
			return fmt.Sprintf("only views up to %d were sent", sentMs)
		}
	}
	return ""
}

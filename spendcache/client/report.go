package client

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/internal/pause"
)

// Shown is ads of a campaign that were shown, whether or not they will be charged.
type Shown struct {
	Account, Campaign string
	// Arm is the arm of the experiment by which it took part in the auction. Empty: none.
	Arm string
	// ExpectedMicros is what they are expected to cost, in micros: the price times the probability
	// that it is charged. An ad whose click costs 0.40, and that 2 % of the users click, has 8000.
	ExpectedMicros int64
	// Currency is that of ExpectedMicros, an ISO 4217 code. Defaults to that of the account's
	// budgets.
	Currency string
	// Ads is their number. Defaults to 1.
	Ads uint64
}

const (
	// reportEvery is the time between two reports.
	reportEvery = 5 * time.Second
	// reportFor is the time for which a report is sent again that no endpoint has taken.
	reportFor = time.Minute
	// reportBytes is the size from which on a report is full. Servers take a megabyte.
	reportBytes = 256 << 10
	// leastBytes is what a campaign counts in a report beside its fields. Servers take 10,000 of
	// them.
	leastBytes = 30
)

// shownKey is what the ads of a report are summed up by.
type shownKey struct{ account, campaign, arm, currency string }

// reporter reports the ads that were shown.
type reporter struct {
	id      string
	mu      sync.Mutex
	sums    map[shownKey]*weirpb.CampaignInsertions
	started bool // its goroutine

	// Of that goroutine.
	sequence uint64
	unsent   []report // in the order of their sequences
}

// report is a request that no endpoint has taken yet.
type report struct {
	*weirpb.ReportInsertionsRequest
	at time.Time // when it was made
}

// Shown reports ads that were shown, so that pacing knows what is in flight: without it, a campaign
// that pays for clicks overspends its budget by the clicks that follow. Call it when an ad is
// shown, at any rate: the ads are summed up, and reported every five seconds. It does not wait.
// Reports that no endpoint takes for a minute are dropped, and so are ads that are not valid:
// Stats.Lost. Ads that are not reported yet when the client is closed are not counted there.
func (c *Client) Shown(s Shown) {
	r := &c.reporter
	r.mu.Lock()
	defer r.mu.Unlock()
	k := shownKey{s.Account, s.Campaign, s.Arm, s.Currency}
	sum := r.sums[k]
	switch {
	case !s.valid(), sum == nil && len(r.sums) >= c.cfg.MaxAccounts:
		c.counters.lost.Add(max(1, s.Ads))
		return
	case sum == nil:
		sum = &weirpb.CampaignInsertions{Campaign: s.Campaign, Arm: s.Arm, Currency: s.Currency}
		r.sums[k] = sum
	}
	sum.ExpectedMicros = min(sum.ExpectedMicros+s.ExpectedMicros, mostExpected)
	sum.Ads += max(1, s.Ads)
	if !r.started {
		r.started = c.begin(c.report)
	}
}

// valid reports whether a server takes the ads. One that it does not take would be refused with all
// others of its report.
func (s Shown) valid() bool {
	id := func(text string) bool {
		return len(text) <= mostID && !strings.Contains(text, "\x00") && utf8.ValidString(text)
	}
	currency := len(s.Currency) == 3
	for _, c := range []byte(s.Currency) {
		currency = currency && c >= 'A' && c <= 'Z'
	}
	return s.ExpectedMicros > 0 && s.ExpectedMicros <= mostExpected && s.Account != "" && s.Campaign != "" && id(s.Account) &&
		id(s.Campaign) && id(s.Arm) && (currency || s.Currency == "")
}

// Bounds of a server.
const (
	mostID       = 4096 // bytes
	mostExpected = 1e18 // micros
)

// begin runs f, unless the client is closed. Close waits for it.
func (c *Client) begin(f func()) bool {
	c.closing.Lock()
	defer c.closing.Unlock()
	if !c.closed {
		c.reading.Go(f)
	}
	return !c.closed
}

// report reports ads until the client is closed.
func (c *Client) report() {
	r := &c.reporter
	for pause.For(c.ctx, jitter(reportEvery)) {
		r.collect()
		for len(r.unsent) > 0 {
			one := r.unsent[0]
			err := c.sendReport(one.ReportInsertionsRequest)
			if c.ctx.Err() != nil {
				return
			}
			if err != nil && !isRefusal(err) && time.Since(one.at) < reportFor {
				break // the later ones would not be taken either
			}
			if r.unsent = r.unsent[1:]; err != nil {
				c.counters.lost.Add(one.ads())
			} else {
				c.counters.reports.Add(1)
			}
		}
	}
}

// collect makes reports of the sums.
func (r *reporter) collect() {
	r.mu.Lock()
	sums := r.sums
	r.sums = map[shownKey]*weirpb.CampaignInsertions{}
	r.mu.Unlock()
	accounts := map[string]*weirpb.AccountInsertions{}
	for k, sum := range sums {
		a := accounts[k.account]
		if a == nil {
			a = &weirpb.AccountInsertions{Account: k.account}
			accounts[k.account] = a
		}
		a.Campaigns = append(a.Campaigns, sum)
	}
	var m *weirpb.ReportInsertionsRequest
	size := reportBytes // of m
	for _, a := range accounts {
		for rest := a.GetCampaigns(); len(rest) > 0; {
			if size >= reportBytes {
				r.sequence++
				m, size = &weirpb.ReportInsertionsRequest{Reporter: r.id, Sequence: r.sequence}, 0
				r.unsent = append(r.unsent, report{m, time.Now()})
			}
			part := &weirpb.AccountInsertions{Account: a.GetAccount()}
			for size < reportBytes && len(rest) > 0 {
				part.Campaigns = append(part.Campaigns, rest[0])
				size += leastBytes + proto.Size(rest[0]) + len(a.GetAccount())
				rest = rest[1:]
			}
			m.Accounts = append(m.Accounts, part)
		}
	}
}

// sendReport sends a report to the endpoints, one after another until one takes it.
func (c *Client) sendReport(m *weirpb.ReportInsertionsRequest) error {
	var failures []error
	for _, e := range c.inOrder(time.Now()) {
		c.counters.requests.Add(1)
		ctx, cancel := context.WithTimeout(c.ctx, c.cfg.Timeout)
		_, err := e.cache.ReportInsertions(ctx, connect.NewRequest(m))
		cancel()
		if err == nil || isRefusal(err) {
			return err
		}
		c.counters.failures.Add(1)
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// ads returns the number of ads of a report.
func (r report) ads() (n uint64) {
	for _, a := range r.GetAccounts() {
		for _, c := range a.GetCampaigns() {
			n += c.GetAds()
		}
	}
	return n
}

func newReporter() reporter {
	return reporter{id: strconv.FormatInt(time.Now().Unix(), 36) + "-" + rand.Text(), sums: map[shownKey]*weirpb.CampaignInsertions{}}
}

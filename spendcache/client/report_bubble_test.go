//go:build synctests

package client

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/api/weirpb"
)

// taken returns the reports that were taken since the last call, after some time.
func (x *fixture) taken(after time.Duration) (list []*weirpb.ReportInsertionsRequest) {
	time.Sleep(after)
	x.mu.Lock()
	defer x.mu.Unlock()
	list, x.reports = x.reports, nil
	return list
}

// expected returns the sums of reports, in micros and in ads.
func expected(list []*weirpb.ReportInsertionsRequest) (micros int64, ads uint64) {
	for _, m := range list {
		for _, a := range m.GetAccounts() {
			for _, c := range a.GetCampaigns() {
				micros, ads = micros+c.GetExpectedMicros(), ads+c.GetAds()
			}
		}
	}
	return micros, ads
}

// TestShown: ads are summed up by account, campaign, arm and currency, and reported within some
// seconds. Without ads nothing is sent.
func TestShown(t *testing.T) {
	inBubble(t, nil, func(x *fixture) {
		if list := x.taken(time.Minute); list != nil || len(x.asked()) > 0 {
			t.Fatalf("%v", list)
		}
		for range 100 {
			x.Shown(Shown{Account: "acme", Campaign: "spring", ExpectedMicros: 8})
			x.Shown(Shown{Account: "acme", Campaign: "spring", Arm: "new", ExpectedMicros: 5, Ads: 2})
			x.Shown(Shown{Account: "initech", Campaign: "spring", ExpectedMicros: 3, Currency: "JPY"})
		}
		for _, s := range []Shown{ // each would have the whole report refused
			{Account: "acme", Campaign: "spring", ExpectedMicros: -1},
			{Account: "acme", Campaign: "spring", ExpectedMicros: 2e18},
			{Account: "acme", Campaign: "spring"},
			{Account: "acme", Campaign: "spring", ExpectedMicros: 1, Currency: "usd"},
			{Account: "acme", Campaign: "spring", ExpectedMicros: 1, Arm: "x\x00"},
			{Account: "acme", Campaign: "\xff", ExpectedMicros: 1},
			{Account: strings.Repeat("x", 5000), Campaign: "spring", ExpectedMicros: 1},
			{Account: "acme", ExpectedMicros: 1},
			{Campaign: "spring", ExpectedMicros: 1, Ads: 2},
		} {
			x.Shown(s)
		}
		list := x.taken(6 * time.Second)
		if len(list) != 1 || len(list[0].GetAccounts()) != 2 || list[0].GetSequence() != 1 || len(list[0].GetReporter()) < 20 {
			t.Fatalf("%v", list)
		}
		if micros, ads := expected(list); micros != 1600 || ads != 400 {
			t.Errorf("%d micros, %d ads", micros, ads)
		}
		for _, a := range list[0].GetAccounts() {
			c := a.GetCampaigns()
			if jpy := c[0].GetCurrency() == "JPY"; jpy != (a.GetAccount() == "initech") || len(c) != 2 && !jpy || len(c) != 1 && jpy {
				t.Errorf("%v", a)
			}
		}
		x.asked()
		if list := x.taken(time.Minute); list != nil || len(x.asked()) > 0 {
			t.Errorf("%v", list)
		}
		if s := x.Stats(); s.Reports != 1 || s.Lost != 10 {
			t.Errorf("%+v", s)
		}
	})
}

// TestShownFails: a report that no endpoint has taken is sent again as it was, for a minute. One
// that is refused is not.
func TestShownFails(t *testing.T) {
	inBubble(t, nil, func(x *fixture) {
		ad := Shown{Account: "acme", Campaign: "spring", ExpectedMicros: 1}
		fail := errors.New("connection refused")
		both := func(change func(*server)) {
			x.set("eu", change)
			x.set("us", change)
		}
		x.set("eu", func(s *server) { s.err = fail })
		x.Shown(ad)
		if list := x.taken(6 * time.Second); len(list) != 1 {
			t.Fatalf("the second endpoint: %v", list)
		}
		both(func(s *server) { s.err = fail })
		for range 4 {
			x.Shown(ad)
			time.Sleep(6 * time.Second)
		}
		both(func(s *server) { s.err = nil })
		list := x.taken(6 * time.Second)
		if micros, _ := expected(list); len(list) != 4 || micros != 4 || list[0].GetSequence() != 2 || list[3].GetSequence() != 5 {
			t.Errorf("after an outage: %v", list)
		}
		both(func(s *server) { s.err = fail })
		x.Shown(ad)
		time.Sleep(40 * time.Second)
		x.Shown(ad)
		time.Sleep(40 * time.Second)
		both(func(s *server) { s.err = nil })
		if list := x.taken(6 * time.Second); len(list) != 1 || x.Stats().Lost != 1 {
			t.Errorf("after a minute: %v, %+v", list, x.Stats())
		}
		both(func(s *server) { s.status = 400 })
		x.Shown(ad)
		x.taken(6 * time.Second)
		both(func(s *server) { s.status = 0 })
		x.Shown(ad)
		if list := x.taken(6 * time.Second); len(list) != 1 || x.Stats().Lost != 2 {
			t.Errorf("after a refusal: %v, %+v", list, x.Stats())
		}
		both(func(s *server) { s.delay = time.Hour }) // Close ends the request
		x.Shown(ad)
		time.Sleep(6 * time.Second)
		x.Close()
		x.Shown(ad)
	})
}

// TestShownMany: many ads are several reports, in which no account is there twice, and no more than
// a server takes.
func TestShownMany(t *testing.T) {
	inBubble(t, func(c *Config) { c.MaxAccounts = 25_000 }, func(x *fixture) {
		const accounts, campaigns = 3, 10_000
		for n := range accounts * campaigns {
			x.Shown(Shown{Account: fmt.Sprint(n % accounts), Campaign: fmt.Sprint("c", n), ExpectedMicros: 1})
		}
		list := x.taken(6 * time.Second)
		if micros, ads := expected(list); micros != 25_000 || ads != 25_000 || len(list) < 3 || x.Stats().Lost != 5000 {
			t.Errorf("%d micros, %d ads in %d reports, %+v", micros, ads, len(list), x.Stats())
		}
		for i, m := range list {
			seen, n := map[string]bool{}, 0
			for _, a := range m.GetAccounts() {
				if seen[a.GetAccount()] {
					t.Errorf("account %s is twice in report %d", a.GetAccount(), i)
				}
				seen[a.GetAccount()] = true
				n += len(a.GetCampaigns())
			}
			if n > 10_000 || m.GetSequence() != uint64(i+1) {
				t.Errorf("report %d: %d campaigns, sequence %d", i, n, m.GetSequence())
			}
		}
	})
}

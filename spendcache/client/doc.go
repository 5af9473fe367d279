// Package client reads the spend of accounts, and how their campaigns are paced, from spend caches.
// It is for ad servers, which ask before a campaign takes part in an auction.
//
//	Decide(ad), Pacing("acme"),
//	Account("acme") ─▶ answer in memory? ── fresh ─────────────────────────────▶ answer
//	                        │ old or none                                         ▲
//	                        └─▶ one request for all who wait ─▶ cache of eu       │ within Limit
//	                             after 25 ms, an error, or a  ─▶ cache of us ─────┘
//	                             mode that is not normal
//
//	c, err := client.New(client.Config{Endpoints: []string{"https://weir.eu:8080", "https://weir.us:8080"}})
//	// handle err
//	defer c.Close()
//	c.Prefetch("acme", "initech") // as soon as the accounts of an ad request are known
//	d := c.Decide(ctx, client.Ad{Account: "acme", Campaign: "spring", Request: requestID})
//	if d.Serve {
//		bid *= d.Multiplier
//	}
//
// # Pacing
//
// A campaign takes part in an auction if its gate is open, and a coin falls so: a hash of the
// request and the campaign is below the probability of the campaign. A repeated request gets the
// same decision. The controller of weir computes gate, probability and bid multiplier each ten
// seconds, and writes those that have moved, and each of them once a minute.
//
//   - A campaign without budgets takes part in no auction, unless Config.ServeUnpaced is set.
//   - While no answer for the account is known, its campaigns take part in no auction.
//   - A campaign stops when its budget would be spent at the mean rate of spend.
//   - From Config.StaleParameters on, the parameters are held.
//   - From Config.Unusable on, campaigns stop.
//
// Invariants:
//
//   - PACE-23: Parameters count until a budget would be spent. Stale ones are held; too old ones
//     stop campaigns.
//   - PACE-24: A request and a campaign get one decision while the parameters are the same.
//
// Parameters that another datacentre's controller has computed are used when those of the first
// endpoint are stale. Their age needs clocks that agree within some seconds. If the clock of a
// controller is ahead, the age is at least the time for which this client knows the parameters.
//
// # Ads that were shown
//
//	c.Shown(client.Shown{Account: "acme", Campaign: "spring", ExpectedMicros: price * clickRate})
//
// An ad server reports the ads that it has shown, so that pacing knows what is in flight. The
// client sums them up, and sends a report each five seconds, one at a time, until an endpoint takes
// it.
//
// # Spend
//
//	a, err := c.Account(ctx, "acme")
//	switch {
//	case err != nil:
//		// the spend is not known
//	case a.Mode() == client.FailSafe:
//		// the spend is too old: stop campaigns with a budget
//	case a.Spent("spring", today, "USD") >= budget:
//		// the budget is spent
//	}
//
// The unit of reading is the account: an answer has all its campaigns, so that one request serves
// all ads of the account for some seconds. An answer is kept for TTL. Accounts that are asked for
// often are read again before that, in the background, so their callers never wait. An account
// without spend is an answer without rows, which is kept as all others.
//
// # Guarantees
//
//  1. Account, Pacing and Decide return within Config.Limit, also if no cache answers. They then
//     use the answer that there is, which states its age.
//  2. Callers who wait for an account share one read of it, which sends at most one request to each
//     endpoint.
//  3. An answer never seems newer than it is: Age includes the time in this process, and Mode is
//     that of the present age. (The time in which the machine sleeps is not counted.)
//  4. If an endpoint does not answer, the next one is asked within half of Config.Limit. The
//     endpoint is then asked last for a second, so that its failure costs other accounts no time.
//     If an endpoint has no healthy dataset of the account, its answer is used until another one
//     has a better one.
//
// # What it does not do
//
// It computes no parameters. It does not choose between datasets: the caches do. It keeps nothing
// on disk. An ad server that needs every account in memory runs a spendcache.Cache instead.
package client

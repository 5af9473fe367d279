// Package client reads the spend of accounts from spend caches. It is for ad servers, which ask
// for the spend of an account before they serve one of its ads.
//
//	Account("acme") ─▶ answer in memory? ── fresh ─────────────────────────────▶ answer
//	                        │ old or none                                         ▲
//	                        └─▶ one request for all who wait ─▶ cache of eu       │ within Limit
//	                             after 25 ms, an error, or a  ─▶ cache of us ─────┘
//	                             mode that is not normal
//
//	c, err := client.New(client.Config{Endpoints: []string{"https://weir.eu:8080", "https://weir.us:8080"}})
//	// handle err
//	defer c.Close()
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
//  1. Account returns within Config.Limit, also if no cache answers. It then returns the answer
//     that it has, which states its age.
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
// It decides no budgets. It does not choose between datasets: the caches do. It keeps nothing on
// disk. An ad server that needs every account in memory runs a spendcache.Cache instead.
package client

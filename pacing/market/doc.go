// Package market simulates a day of second-price auctions, in which campaigns with budgets are
// paced by package control. It shows what a controller is worth before it sees traffic.
//
//	requests of 12 segments, cosine traffic ─▶ auction ── winner ─▶ price, charged after a delay
//	           ▲                                  ▲                      │
//	           │ each 2 s: gate                   │ probability, bid     ▼ after the lag of the data
//	           └─────────────── control.Pacer, each 10 s ◀── charged, in flight, cost of a tick
//
// A Market has campaigns, of which half pay for impressions and half for clicks. Their budgets are
// 10 to 120 % of what they would spend without one. Equal seeds give equal days.
//
// # What it does not do
//
// It has one ad slot and one datacentre, bids do not learn, and the traffic is made up: the figures
// compare controllers, and forecast no campaign.
package market

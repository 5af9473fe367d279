// Package pacingsim simulates a day of the pacing service with its ad servers, in virtual time: the
// rules of all parts together keep the budgets, also while parts fail.
//
//	Simulation ── requests ─▶ ad servers: client.Client ── Decide ─▶ auctions ─▶ charges ─┐
//	                          ▲ GetParameters, each 5 s                              │ after 1 to 3 s
//	                     transport ◀── packs ◀── pack.Account, each 10 s ◀── spend ◀─┘
//	                                                                         3 s old
//
// The packs, the conversion of packs by package api, and the client are real. The brokers, the
// spend counter and the spend cache between them are models: the spend is a number that is some
// seconds old, and a pack that is written can be read at once. Other tests have those.
//
// A Fault is something that is away for a time: the spend cannot be read, the spend does not get
// newer, the service is down, or an ad server is cut off. A service that comes back is another
// process: it continues from the packs. There may be several datacentres, each with a service and
// ad servers: all services read the same spend.
//
// # What it does not do
//
// The traffic is made up; package market compares controllers in auctions.
package pacingsim

package client

import "sync/atomic"

// Stats are counts since New.
type Stats struct {
	Hits     uint64 // calls of Account, Pacing and Decide that were answered from memory
	Waits    uint64 // calls that waited for a request
	Old      uint64 // calls that returned an answer older than its TTL, because no cache answered in time
	Unknown  uint64 // calls that returned an error
	Requests uint64 // requests to endpoints
	Failures uint64 // requests that failed or took too long
	Accounts int    // answers in memory: of spend, and of pacing
	Reports  uint64 // of ads that were shown, which an endpoint has taken
	Lost     uint64 // ads that were shown, and are not valid or in a report that was dropped
}

type counters struct {
	hits, waits, old, unknown, requests, failures, reports, lost atomic.Uint64
}

// Stats returns the counts.
func (c *Client) Stats() Stats {
	n := &c.counters
	return Stats{
		n.hits.Load(), n.waits.Load(), n.old.Load(), n.unknown.Load(), n.requests.Load(), n.failures.Load(),
		c.accounts.entries.Len() + c.pacing.entries.Len(), n.reports.Load(), n.lost.Load(),
	}
}

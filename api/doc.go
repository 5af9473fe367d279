// Package api serves what the weir processes know: spend, health, partitions, state, to programs and to people.
//
//	curl, gRPC, gRPC-Web ─▶ data listener 127.0.0.1:8080      ops listener 127.0.0.1:8081 ◀─ Prometheus, probes, pprof
//	a browser ───────────▶   guard: host, token, origin,        guard: host, token
//	                         limits, access log                   │
//	                           │                                  ├─ /livez /readyz ── Config.Ready
//	                           ├─ /            index page         ├─ /metrics ──────── Config.Registry
//	                           ├─ SpendService ───▶ SpendSource   └─ /debug/pprof/
//	                           ├─ ClusterService ─▶ ClusterSource, SavepointSource
//	                           └─ StateService ─┐       │
//	Client (the CLI) ────────▶ data listener    ▼       ▼
//	                                          Router ─▶ StateSource: what this process has
//	                                            │  └──▶ PeerSource: who has the rest
//	                                            └─ one hop ─▶ the data listener of the owner, or of a standby
//
// The sources are interfaces of this package; the runtime's store stands behind them, joined in cmd/weir. A SpendSource reads through the Router too. The logic of
// an answer (which records count, what is ambiguous, what is summed) is here, so that every protocol and every source
// gives the same one.
//
// Invariants:
//
//  1. An answer is made of committed state only: a source never shows the state of an open transaction.
//  2. Every answer about spend and state says as of what it holds (AsOf), NotFound included, and who gave it.
//  3. Unknown is never zero. A campaign without records is NotFound; a partition that cannot be read and could change
//     the answer makes it Unavailable; a lag that is not known is absent; a shard that cannot be read is a Gap.
//  4. Sums are checked: a figure that does not fit is OutOfRange, never wrapped.
//  5. Accounts and currencies are never summed together: such a question is FailedPrecondition and names the choices.
//  6. A listener that others can reach serves only with TLS and a token; New refuses anything else.
//  7. Every error says what, why and what to do now.
//  8. Run returns after its goroutines; what a request may take (bytes, time, connections) is bounded.
//  9. A question is passed on at most once: one that carries HopHeader is answered from what is there, and only by the
//     process that it names. The caller's token goes with it, but never in the clear to another machine.
//  10. State that may be old is given only to those who say how old it may be, and the answer says how old it is.
//  11. A page token is a place between keys: what is in the table during all of a scan comes exactly once, whatever is
//     written meanwhile. A page is as of one moment for each partition, a scan of many pages is not.
//
// It does not read Kafka or Pebble, remembers nothing but who has which partition, changes nothing (the one mutating call takes a savepoint), knows no users or
// roles beyond one token, has no rate limit per caller (the number of requests at a time is limited instead), and
// allows no call from another origin's web page.
package api

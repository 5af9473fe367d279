// Package api serves spend, health, partitions and state of the weir processes to programs and to
// browsers.
//
//	curl, gRPC, gRPC-Web ─▶ data listener 127.0.0.1:8080   ops listener 127.0.0.1:8081 ◀─ Prometheus,
//	a browser ───────────▶   authHandler: host, token,       authHandler: host, token      probes, pprof
//	                         origin, limits, access log      │
//	                           │                             ├─ /livez /readyz ── Config.Ready
//	                           ├─ /            index page    ├─ /metrics ──────── Config.Registry
//	                           ├─ SpendService ───▶ SpendSource
//	                           │                             └─ /debug/pprof/
//	                           ├─ ClusterService ─▶ ClusterSource, SavepointSource
//	                           └─ StateService ─┐       │
//	Client (the CLI) ────────▶ data listener    ▼       ▼
//	                                          Router ─▶ StateSource: partitions of this process
//	                                            │  └──▶ PeerSource: owners of the other partitions
//	                                            └─ forwarded once ─▶ the data listener of the owner,
//	                                                                 or of a standby
//
// The sources are interfaces of this package. cmd/weir implements them with the runtime's store. A
// SpendSource reads through the Router too. The logic of an answer (which records count, what is
// ambiguous, what is summed) is in this package, so that every protocol and every source returns
// the same answer.
//
// Invariants:
//
//  1. An answer contains committed state only. A source never shows the state of an open
//     transaction.
//  2. Every answer about spend and state has the offsets and the time that it includes (AsOf) and
//     the process that answered. NotFound has them too.
//  3. Unknown is never zero. A campaign without records is NotFound. If a partition cannot be read
//     and could change the answer, the answer is Unavailable. A lag that is not known is absent. A
//     shard that cannot be read is a Gap.
//  4. Sums are checked. A figure that does not fit is OutOfRange and never wraps.
//  5. Accounts and currencies are never summed together. Such a request is FailedPrecondition, and
//     the error lists the choices.
//  6. A listener that other machines can reach serves only with TLS and a token. New returns an
//     error for anything else.
//  7. Every error states what failed, why and what to do now.
//  8. Run returns after its goroutines. The bytes, time and connections of a request are bounded.
//  9. A request is forwarded at most once. A process answers a request with ForwardedHeader from
//     its own partitions, and only if the header names this process. The caller's token is
//     forwarded too, but never in plain text to another machine.
//  10. Stale state is returned only if the request sets a maximum of staleness, and the answer has
//     the staleness.
//  11. A page token is a position between keys. A key that exists during a whole scan is returned
//     exactly once, whatever is written during the scan. A page reads one snapshot of each
//     partition; a scan of several pages does not.
//
// The package does not read Kafka or Pebble. It keeps nothing but the owners of partitions, and
// changes nothing; the one mutating call takes a savepoint. It has no users or roles beyond one
// token, and no rate limit per caller; the number of concurrent requests is limited instead. It
// rejects calls from web pages of other origins.
package api

// Package api serves spend, health, and the partitions and state of every application of the weir
// processes to programs and to browsers.
//
//	curl, gRPC, gRPC-Web ─▶ data listener 127.0.0.1:8080   ops listener 127.0.0.1:8081 ◀─ Prometheus,
//	a browser ───────────▶   authHandler: host, token,       authHandler: host, token      probes, pprof
//	                         origin, limits, access log      │
//	                           │                             ├─ /livez /readyz ── Config.Ready
//	                           ├─ / /spend     package page  ├─ /metrics ──────── Config.Registry
//	                           ├─ SpendService ───▶ SpendSource
//	                           │                             └─ /debug/pprof/
//	                           ├─ SpendCacheService ─▶ SpendCacheSource
//	                           ├─ AdjustmentService ─▶ AdjustmentSource
//	                           ├─ BudgetService ──▶ BudgetSource, BudgetSink
//	                           ├─ PacingService ──▶ PackReader
//	                           ├─ JobService ─────▶ JobSource, JobSink
//	                           ├─ ClusterService ─▶ ClusterSource; App: tasks, savepoints
//	                           ├─ /query/ ───▶ Config.Queries ─▶ App
//	                           └─ StateService ─▶ App, by the name in the request
//	Client (the CLI) ────────▶ data listener      │
//	                                          Router ─▶ StateSource: partitions of this process
//	                                            │  └──▶ PeerSource: owners of the other partitions
//	                                            └─ forwarded once ─▶ the data listener of the owner,
//	                                                                 or of a standby
//
// The sources are interfaces of this package. Package local implements them with the runtimes of
// the process. SpendReader, the SpendSource and AdjustmentSource of the program, reads through the
// Router. The logic of an answer (which records count, what is ambiguous, what is summed) is in
// this package, so that every protocol and every source returns the same answer.
//
// A long poll (PollSpend) is parked: it waits until a commit changes the answer that its caller
// has.
//
//	PollSpend ─▶ parking ─▶ the owner: WatchSpend, read, compare the version ─▶ wait ─▶ read ...
//	                │
//	                └ limits of the process and of a client; the stop of the server ends the wait
//
// The version of an answer is a checksum of its figures. So a caller can continue with any process,
// also after a move of the partition or a restart. It gets the newest answer, however late it
// polls. Requests with wait are parked too.
//
// Invariants:
//
//   - API-1: An answer contains committed state only. A source never shows the state of an open
//     transaction. The exceptions are the choice of ListJobs, GetSignals, and the text of
//     ExplainJob: they are of decisions that may not have committed yet.
//   - API-2: Every answer about spend and state has the offsets and the time that it includes
//     (AsOf) and the process that answered. NotFound has them too.
//   - API-3: An unknown figure is never shown as zero. A campaign without records is NotFound. If a
//     partition cannot be read and could change the answer, the answer is Unavailable. A lag that
//     is not known is absent. A shard that cannot be read is a Gap.
//   - API-4: Sums are checked. A figure that does not fit is OutOfRange and never wraps.
//   - API-5: Accounts and currencies are never summed together. Such a request is
//     FailedPrecondition, and the error lists the choices.
//   - API-6: A listener that other machines can reach serves only with TLS and a token. New returns
//     an error for anything else.
//   - API-7: Every error states what failed, why and what to do now.
//   - API-8: Run returns after its goroutines. The bytes, time and connections of a request are
//     bounded.
//   - API-9: A request is forwarded at most once. A process answers a request with ForwardedHeader
//     from its own partitions, and only if the header names this process. The caller's token is
//     forwarded too, but never in plain text to another machine.
//   - API-10: Stale state is returned only if the request sets a maximum of staleness, and the
//     answer has the staleness.
//   - API-11: A request for an application is answered from that application alone. The name may be
//     omitted only if one application has state, or if there is a default. If the application does
//     not run here, the error lists the applications that do, and the processes that run the
//     requested one, as far as the brokers know them.
//   - API-12: A page token is a position between keys. A key that exists during a whole scan is
//     returned exactly once, whatever is written during the scan. A page reads one snapshot of each
//     partition; a scan of several pages does not.
//   - API-13: A parked request does not count in the limit of short requests, and its wait is not
//     in the time of requests. It costs no read until a commit changes a key that it is about. It
//     ends with its wait, its caller, the server, or the process's ownership of the partition.
//   - API-14: A page shows the answers of the same calls that programs make, and sums of them. What
//     takes long to read (LeaseSource, DeadLetterSource) is read in the background, while pages are
//     open, for at most 5 % of the time. A page waits 100 ms for the first such read, and 2 s for
//     all of its content.
//   - API-15: Of a request with budgets nothing is written if one of its documents is refused, be
//     it for its content or for its version. The answer comes when all of them are applied. Two
//     processes do not wait for each other: see BudgetService in weir.proto.
//
// The package does not read Kafka or Pebble. It keeps nothing but the owners of partitions and what
// was read in the background for pages. It changes nothing, except that one call takes a savepoint,
// one writes budgets, and JobService runs queues. It has no users or roles beyond one token, and no
// rate limit per caller; instead it limits the number of concurrent requests. It rejects calls from
// web pages of other origins.
package api

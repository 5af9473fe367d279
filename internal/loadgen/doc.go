// Package loadgen makes plausible ad events at a settable rate, for weir dev, benchmarks and tests.
//
//	Pacer.Take(now) ─n─▶ n × Generator.Append(dst, nowMs) ─▶ partition, key, value ─▶ a producer
//	                     Generator.AppendHeartbeats       ─▶ one a second and partition
//	Bench.Append(dst)    the same without clicks, duplicates and the daily cycle: fast, and the same bytes each time
//
// What it imitates: few campaigns have most of the traffic (Zipf); each campaign has its own hours of the day; prices are
// log-normal around a campaign's median; four in five campaigns pay per impression, the others per click; a click comes
// seconds after its impression and carries its insertion id; one client in a thousand sends an event twice.
//
// Invariants:
//
//  1. Pure: the time is an argument, chance comes of the seed. Equal configurations asked at equal times give equal
//     bytes.
//  2. No two events that are not duplicates on purpose have one id, across restarts too, as long as seed or start differ.
//  3. Money is integer micros; Stats is the exact truth about what was made, to compare a counter with.
//
// It does not: produce, keep a clock, or run a goroutine.
package loadgen

// Package loadgen generates realistic ad events at an adjustable rate, for weir dev, benchmarks and
// tests.
//
//	Pacer.Take(now) ─n─▶ n × Generator.Append(dst, nowMs) ─▶ partition, key, value ─▶ producer
//	                     Generator.Heartbeats(nowMs)      ─▶ one per second and partition
//	Bench.Append(dst)    impressions only, at full speed
//
// The traffic: few campaigns have most of the events (Zipf). Each campaign has a daily cycle.
// Prices are log-normal around the median of the campaign. Four of five campaigns pay per
// impression, the others per click. A click follows its impression by seconds and carries the
// insertion id of the impression. One event in a thousand is sent twice. Bench leaves out clicks,
// duplicates and the daily cycle.
//
// Invariants:
//
//  1. The package is pure: time is an argument and randomness comes from the seed. Equal
//     configurations that are called at equal times generate equal bytes.
//  2. Only intended duplicates share an event id. This holds over restarts too, if the seed or the
//     start time differs.
//  3. Money is integer micros. Stats are the exact totals of the generated events, to compare a
//     spend counter with.
//
// The package does not produce to Kafka, does not read a clock and does not start goroutines.
package loadgen

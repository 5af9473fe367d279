// Package forecast forecasts the new leases of a pool in a region from their arrivals.
//
//	arrivals ─▶ Series.Add ──┬─▶ Forecast   new leases per second in the next ten minutes, and its error
//	                         ├─▶ Recent     of the last seconds: a burst
//	                         └─▶ Profile    the usual rate by hour of the day and of the week
//	Series of all regions ───▶ Choose       the method whose forecasts cost least
//
// Invariants:
//
//  1. The caller passes the time. Equal calls make equal series.
//  2. A decoded Series or Profile continues as the encoded one.
//
// What it does not do: it does not know resources, nor leases that end (package balancer).
package forecast

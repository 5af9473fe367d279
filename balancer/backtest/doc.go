// Package backtest tries the balancer's forecasts and policy on demand that was recorded or made up, beside the policy that
// they replace. It is what `weir balancer backtest` shows.
//
//	CSV ── Read ──▶ Curve ─┐             ┌─▶ forecasts: each method's error, by region
//	     Synthetic ──▶ Curve ┴─ Run ──────┼─▶ policies: refused and moved, of the same arrivals
//	                                     └─▶ SVG: demand, free stock, refused and moved over time
//
// Each second of the curves, as many keys as chance makes of the rate ask for a lease. Whoever finds nothing free is refused
// and does not ask again. Leases last 60 to 90 minutes and are not renewed. The same seed gives the same arrivals to each
// policy.
//
// # The format of curves
//
// Read takes CSV, plain or gzip: a first line that names the columns, if there is one, then time and value, further columns
// are ignored. A time is Unix seconds, RFC 3339 or "2006-01-02 15:04:05" in UTC; times go up. A value is demand, in any unit:
// Scale makes of it new leases a second. What is negative or no number counts as nothing; a missing step is the one before.
//
// # What it does not do
//
// It opens no files. It runs balancer.Series, Plan and Pull, not the Balancer around them: how that gets its counts is tested
// there. It has no renewals, no errors and no regions that are cut off.
package backtest

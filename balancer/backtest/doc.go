// Package backtest runs the balancer's forecasts and policy on recorded or synthetic demand, beside
// the policy that they replace: proportional targets, with resources liberated hourly or at once.
// `weir balancer backtest` prints its results.
//
//	CSV ── Read ──▶ Curve ─┐              ┌─▶ forecasts: error of each method, by region
//	     Synthetic ──▶ Curve ┴─ Run ──────┼─▶ policies: refused and moved, for the same arrivals
//	                                      └─▶ SVG: demand, free resources, refused and moved over time
//
// In each second, a Poisson number of keys with the rate of the curve asks for a lease. A key that
// finds no free resource is refused and does not ask again. Leases last 60 to 90 minutes and are
// not renewed. The same seed gives the same arrivals to each policy.
//
// # The format of curves
//
// Read takes CSV, plain or gzip: optionally a line with the names of the columns, then lines of
// time and value; it ignores further columns. A time is Unix seconds, RFC 3339 or "2006-01-02
// 15:04:05" in UTC; times increase. A value is demand in any unit: Scale converts it to new leases
// per second. A negative or invalid value counts as 0; a missing step has the value of the step
// before.
//
// # What it does not do
//
// It opens no files. It runs forecast.Series, plan.Moves and plan.Pulls, not the Balancer around
// them: tests of package balancer cover how the Balancer counts. It has no renewals, errors or lost
// regions.
package backtest

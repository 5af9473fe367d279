package backtest

import "github.com/weirhq/weir/balancer/forecast"

// ChosenMethod is ForecastRow.Method for the method that forecast.Choose selects, which changes
// over time.
const ChosenMethod = "chosen"

// ForecastRow is the error of a method in a region. Every two minutes it forecasts the new leases
// of the next ten minutes, which are then counted.
type ForecastRow struct {
	Region string
	Method string
	// ErrorPercent is the sum of the absolute errors divided by the number of leases, in percent.
	ErrorPercent float64
	// UnderPercent is the part of ErrorPercent by forecasts that were too low.
	UnderPercent float64
}

const (
	forecastEvery = 120 // seconds
	horizon       = int(forecast.DefaultHorizon / 1e9)
	methods       = forecast.Methods
)

// forecasts returns the errors of each method on curves, after the warm time.
func forecasts(curves []Curve, cfg Config, seconds int) []ForecastRow {
	type errors struct{ over, under, sum float64 }
	n := len(curves)
	series, profiles := make([]forecast.Series, n), make([]forecast.Profile, n)
	list := make([]*forecast.Series, n)
	for r := range list {
		list[r] = &series[r]
	}
	off := make([][methods + 1]errors, n)
	forecasts := make([][][methods + 1]float64, n) // by region and time of forecast
	came := make([]int, n)
	total := make([][]int, n) // arrivals until then, by time of forecast
	rng, method := draws(cfg.Seed), forecast.EWMA
	for t := range seconds {
		if t%forecastEvery == 0 {
			method = forecast.Choose(method, list)
		}
		for r := range curves {
			if t%forecastEvery == 0 {
				series[r].Advance(int64(t)*1000, &profiles[r])
				var rates [methods + 1]float64
				for m := range rates {
					use := forecast.Method(m)
					if m == methods {
						use = method
					}
					rates[m], _ = series[r].Forecast(use, &profiles[r])
				}
				forecasts[r], total[r] = append(forecasts[r], rates), append(total[r], came[r])
				if at := len(forecasts[r]) - 1 - horizon/forecastEvery; at >= 0 && float64(t-horizon) >= cfg.WarmUp.Seconds() {
					actual := float64(came[r] - total[r][at])
					for m := range off[r] {
						e, miss := &off[r][m], forecasts[r][at][m]*float64(horizon)-actual
						e.over, e.under, e.sum = e.over+max(0, miss), e.under+max(0, -miss), e.sum+actual
					}
				}
			}
			k := rng.poisson(curves[r].at(t))
			if came[r] += k; k > 0 {
				series[r].Add(int64(t)*1000, float64(k), &profiles[r])
			}
		}
	}
	var rows []ForecastRow
	for r := range curves {
		for m, e := range off[r] {
			name := ChosenMethod
			if m < methods {
				name = forecast.Method(m).String()
			}
			all := max(1, e.sum)
			rows = append(rows,
				ForecastRow{
					Region: curves[r].Region, Method: name, ErrorPercent: 100 * (e.over + e.under) / all, UnderPercent: 100 * e.under / all,
				})
		}
	}
	return rows
}

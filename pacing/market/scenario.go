package market

// Scenario is what happens on a day.
type Scenario struct {
	Name string
	Text string
	// lag returns the seconds until a charge is known.
	lag func(step int) float64
	// demand is the factor by which the traffic differs from the plan. nil: it does not.
	demand func(step int) float64
	// budgets changes budgets at noon: a quarter of the campaigns gets half as much again, a
	// quarter loses 30 %.
	budgets bool
	// blind hides the ads that were shown, too, while the lag is longer than 30 s.
	blind bool
	// unaware hides the age of the data from the pacers, which then see a campaign that spends
	// nothing.
	unaware bool
}

const shortLag = 2 // seconds

func hours(step int) float64 { return float64(step) * stepSeconds / 3600 }

func ordinaryLag(int) float64 { return shortLag }

// outage returns the lag of an outage from an hour on: all charges are known at its end.
func outage(from, length float64) func(int) float64 {
	return func(step int) float64 {
		if h := hours(step); h > from && h < from+length {
			return (from + length - h) * 3600
		}
		return shortLag
	}
}

// Scenarios returns the days on which controllers are compared.
func Scenarios() []Scenario {
	return []Scenario{
		{Name: "ordinary", Text: "an ordinary day", lag: ordinaryLag},
		{Name: "lag", Text: "charges are known after 120 s from 8 to 22 h; the pacers do not know it", lag: longLag, unaware: true},
		{Name: "budgets", Text: "budgets change at noon: a quarter +50 %, a quarter -30 %", lag: ordinaryLag, budgets: true},
		{Name: "traffic", Text: "20 % more traffic than planned, and 80 % more from 9 to 11 h", lag: ordinaryLag, demand: moreTraffic},
		{Name: "blind", Text: "no data from 22 to 22.5 h; the pacers do not know it", lag: outage(22, 0.5), blind: true, unaware: true},
		{Name: "hold", Text: "no data from 22 to 22.5 h: the pacers hold", lag: outage(22, 0.5), blind: true},
	}
}

func longLag(step int) float64 {
	if h := hours(step); h > 8 && h < 22 {
		return 120
	}
	return shortLag
}

func moreTraffic(step int) float64 {
	if h := hours(step); h > 9 && h < 11 {
		return 1.8
	}
	return 1.2
}

package backtest

import (
	"testing"
)

func TestX(t *testing.T) {
	for _, stock := range []float64{1.15, 1.3} {
		for _, name := range Policies() {
			res, err := Simulate(Synthetic(6, 1), name, Config{Resources: int(stock*MostLeased(Daily(2)))})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%.2f %-48s refused %6.3f %% moved %6.2f per 100 of %d", stock, name, res.RefusedPercent(), res.MovedPer100(), res.Wanted)
		}
	}
}

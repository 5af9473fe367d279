package backtest_test

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/weirhq/weir/balancer/backtest"
)

// One file for each region, scaled to two new leases per second each. The second region is eight
// hours further west.
func ExampleRun() {
	var curves []backtest.Curve
	for i, region := range []string{"eu", "us"} {
		var file strings.Builder
		fmt.Fprintln(&file, "timestamp,value")
		for hour := range 48 {
			fmt.Fprintf(&file, "%d,%d\n", 1_700_006_400+3600*hour, 100-4*abs(hour%24-12))
		}
		c, err := backtest.Read(region, strings.NewReader(file.String()))
		if err != nil {
			fmt.Println(err)
			return
		}
		curves = append(curves, c.Scale(2).Shift(time.Duration(i)*8*time.Hour))
	}
	report, err := backtest.Run(curves, backtest.Config{Stock: 1.3})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := report.SVG(io.Discard); err != nil {
		fmt.Println(err)
	}
	ours, theirs := report.Result(backtest.Weir), report.Result(backtest.ProportionalHourly)
	fmt.Println("refused less:", ours.Refused < theirs.Refused, "moved less:", ours.Moved < theirs.Moved)
	// Output: refused less: true moved less: true
}

func abs(n int) int { return max(n, -n) }

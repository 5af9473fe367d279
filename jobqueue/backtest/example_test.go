package backtest_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/weirhq/weir/jobqueue/backtest"
)

// A trace of four jobs, of which three prefer the same model, is run with two policies.
func ExampleTrace_Run() {
	trace, err := backtest.Read(strings.NewReader(`
{"at_ms":0,"run_ms":10000,"prefer":["model:x"]}
{"at_ms":40000,"run_ms":10000,"prefer":["model:x"]}
{"at_ms":41000,"run_ms":10000,"prefer":["model:y"]}
{"at_ms":42000,"run_ms":10000,"prefer":["model:x"]}
`), backtest.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	cfg := backtest.Config{Agents: backtest.Alike(trace, 2), Load: 20 * time.Second}
	for _, name := range []string{"greedy", "delay:15s"} {
		policy, err := backtest.ParsePolicy(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		r, err := trace.Run(context.Background(), cfg, policy)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%-9s  %d hits, mean wait %v, the last job ends after %v\n", name, r.Hits, r.Mean, r.Makespan)
	}
	// Output:
	// greedy     1 hits, mean wait 7s, the last job ends after 1m20s
	// delay:15s  2 hits, mean wait 2s, the last job ends after 1m11s
}

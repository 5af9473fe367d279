package main

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/weirhq/weir/bench/peers/figures"
)

// TestTable: a row has the medians of its system, the ratio of weir's jobs per second to its own,
// and the greatest peak. Below the table is what has no figure.
func TestTable(t *testing.T) {
	rows := tabulate([]sample{
		{weir, 12000, 20, 40, 1 << 30},
		{river, 3000, 10, 50, 1 << 28},
		{weir, 10000, 22, 44, 2 << 30},
		{weir, 14000, 24, 42, 1 << 30},
	})
	same := func(v float64) figures.Spread { return figures.Spread{Median: v, Min: v, Max: v} }
	want := []row{
		{
			System: weir, Rounds: 3, PerSecond: figures.Spread{Median: 12000, Min: 10000, Max: 14000}, Ratio: 1,
			P50: figures.Spread{Median: 22, Min: 20, Max: 24}, P99: figures.Spread{Median: 42, Min: 40, Max: 44}, Peak: 2 << 30,
		},
		{System: river, Rounds: 1, PerSecond: same(3000), Ratio: 4, P50: same(10), P99: same(50), Peak: 1 << 28},
	}
	if !reflect.DeepEqual(rows, want) {
		t.Errorf("%+v, want %+v", rows, want)
	}
	var out bytes.Buffer
	if err := write(&out, report{rows, []figures.Missing{{What: riverAsync, Why: "no database"}}}, "text"); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"river   1       3000", "4.00", riverAsync + ": no database: not measured"} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("no %q in\n%s", text, out.String())
		}
	}
}

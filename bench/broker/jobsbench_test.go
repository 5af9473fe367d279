package broker

import (
	"reflect"
	"testing"
)

// TestMedians: the figures of several rounds have the median of each figure and of its ratio.
func TestMedians(t *testing.T) {
	round := func(cycles, ratio float64) []Figure {
		rows := []Figure{row("life cycles", "jobs/s", cycles), row("beside reads", "jobs/s", cycles*ratio)}
		rows[0].Goal, rows[1].Ratio = ">= 1", ratio
		return rows
	}
	got := medians([][]Figure{round(100, 0.5), round(300, 0.25), round(200, 0.75)})
	want := []Figure{
		{What: "life cycles", Unit: "jobs/s", Median: 200, Min: 100, Max: 300, Ratio: 1, Goal: ">= 1"},
		{What: "beside reads", Unit: "jobs/s", Median: 75, Min: 50, Max: 150, Ratio: 0.5},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

package main

import (
	"strings"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
)

// TestPacingSimulate: weir pacing simulate prints a row for each day and controller, and the same
// rows again.
func TestPacingSimulate(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates six days")
	}
	args := []string{"pacing", "simulate", "--seeds", "1", "--day", "hold,ordinary", "--controllers", "dual-flight,asap"}
	list := rows(t, nil, func([]map[string]any) bool { return true }, args...)
	if len(list) != 4 {
		t.Fatalf("%v", list)
	}
	for i, want := range []string{"ordinary asap", "ordinary dual-flight", "hold asap", "hold dual-flight"} {
		day, controller, _ := strings.Cut(want, " ")
		r := list[i]
		if r["day"] != day || r["controller"] != controller || r["utilisation_percent"].(float64) < 95 || r["value_per_unit"].(float64) <= 0 ||
			(r["avgerr_percent"].(float64) < 60) != (controller != "asap") {
			t.Errorf("row %d: %v, want %s", i, r, want)
		}
	}
	first := weir(t, nil, append(args, "-o", "csv")...)
	if again := weir(t, nil, append(args, "-o", "csv")...); first.Code != 0 || first.Stdout != again.Stdout {
		t.Errorf("code %d\n%s\n%s", first.Code, first.Stdout, again.Stdout)
	}
	expect(t, nil, cli.ExitUsage, `--controllers: "dual" does not exist`, "pacing", "simulate", "--controllers", "dual")
	expect(t, nil, cli.ExitUsage, "did you mean blind?", "pacing", "simulate", "--day", "blinds")
	expect(t, nil, cli.ExitUsage, "--seeds 0 is out of range", "pacing", "simulate", "--seeds", "0")
}

package sim

import (
	"fmt"
	"os"
	"strconv"
	"testing"
)

func TestSeeds(t *testing.T) {
	n := 200
	for seed := range uint64(n) {
		h := Run(Draw(seed), "", false)
		for _, v := range Judge(h) {
			t.Errorf("seed %d: %v", seed, v)
		}
	}
}

func TestOne(t *testing.T) {
	seed, _ := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	h := Run(Draw(seed), "", true)
	os.WriteFile("/tmp/story.txt", []byte(h.Story), 0o644)
	fmt.Println(Draw(seed), h.Events, h.Marks, len(h.Writes), len(h.Uses), len(h.Commands), len(h.Results))
	for _, v := range Judge(h) {
		fmt.Println(v)
	}
}

func TestFlights(t *testing.T) {
	seed, _ := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	h := Run(Draw(seed), "", true)
	for _, f := range h.Flights {
		fmt.Println(f, clock(f.UntilMs-epoch))
	}
	fmt.Println(Excerpt(h.Story, os.Getenv("NAME")))
}

func TestRows(t *testing.T) {
	seed, _ := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	h := Run(Draw(seed), "", true)
	for r, m := range h.Headroom {
		fmt.Println(r, clock(m.AsOfMs-epoch), m)
	}
	for i := range h.Scenario.Resources {
		fmt.Println(resourceName(i), rowText(h.Rows[0][i].Row))
	}
	for _, v := range Judge(h) {
		fmt.Println(v)
	}
}

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

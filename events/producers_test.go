package events

import (
	"os"
	"regexp"
	"strconv"
	"testing"
)

// TestProducersPage compares the table of docs/producers.md with the code.
func TestProducersPage(t *testing.T) {
	page, err := os.ReadFile("../docs/producers.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| `([0-9a-f]{16})` \\| ([0-9]+) \\|$").FindAllStringSubmatch(string(page), -1)
	signBit := 0
	for _, row := range rows {
		hash, err := strconv.ParseUint(row[2], 16, 64)
		if err != nil || hash != AccountHash([]byte(row[1])) {
			t.Errorf("hash of %s: the page has %s, %v; the code %016x", row[1], row[2], err, AccountHash([]byte(row[1])))
		}
		if want := strconv.Itoa(int(Shard(row[1], DefaultShards))); row[3] != want {
			t.Errorf("partition of %s: the page has %s, the code %s", row[1], row[3], want)
		}
		if int64(hash) < 0 {
			signBit++
		}
	}
	if len(rows) < 9 || signBit == 0 || signBit == len(rows) {
		t.Errorf("%d rows, %d of them negative as a signed number: want 9 or more, of both kinds", len(rows), signBit)
	}
}

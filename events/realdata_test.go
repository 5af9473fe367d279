package events

import (
	"bufio"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRealPrices adds up the prices of campaign 1458 of the public iPinYou log. The total is known
// to the micro.
func TestRealPrices(t *testing.T) {
	f, err := os.Open(realData(t, "ads/ipinyou_1458_220k.csv.gz"))
	if err != nil {
		t.Skipf("the file of real data is missing: %v", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	unit, err := ParsePriceUnit("cpm-fen")
	if err != nil {
		t.Fatal(err)
	}
	rows, sum := 0, int64(0)
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		col := strings.Split(lines.Text(), ",") // no field of this file is quoted
		if col[0] == "seq" {
			continue
		}
		micros, err := unit.Micros(col[3])
		if err != nil {
			t.Fatalf("row %d: %v", rows, err)
		}
		ok := false
		if sum, ok = AddMicros(sum, micros); !ok {
			t.Fatalf("row %d: the sum overflows", rows)
		}
		rows++
	}
	cny, _ := ParseCurrency("CNY")
	if got := FormatMicros(sum, cny); lines.Err() != nil || rows != 220_000 || got != "147.125090 CNY" {
		t.Fatalf("%d rows, %s, %v", rows, got, lines.Err())
	}
}

// realData returns the path of a file of real data. The files are in a folder beside the repository
// and are not part of it.
func realData(t *testing.T, name string) string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "..", "shared", "data", name)
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
}

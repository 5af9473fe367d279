package dev

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/cmd/weir/internal/node"
)

// TestStatus: the line has a sum for each currency and none over currencies, and the event has the
// same figures in fields.
func TestStatus(t *testing.T) {
	s := status{
		at: time.Unix(0, 0), events: 7, perSecond: 2.5, charged: []node.Charge{{Currency: "EUR", Micros: 1_500_000}, {Currency: "JPY", Micros: 40_000_000}},
		lag: 3, running: 2, parts: 4, leases: leaseCounts{held: 5},
	}
	if line := s.String(); !strings.Contains(line, "charged 1.500000 EUR, 40.000000 JPY  behind 3  partitions 2/4 running  leases 5 held") {
		t.Errorf("the line is %q", line)
	}
	if line := (status{}).String(); !strings.Contains(line, "charged 0  behind") {
		t.Errorf("without money the line is %q", line)
	}
	var out bytes.Buffer
	log := zerolog.New(&out)
	s.log(&log)
	var got struct {
		Message string
		Events  int64
		Charged map[string]int64 `json:"charged_micros"`
		Held    int64            `json:"leases_held"`
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Message != "dev_status" || got.Events != 7 || len(got.Charged) != 2 || got.Charged["JPY"] != 40_000_000 || got.Held != 5 {
		t.Errorf("the event is %s", out.Bytes())
	}
}

package executor

import (
	"strings"
	"testing"

	"github.com/weirhq/weir/lease/table"
)

// TestExecutors holds that there is one executor for each region, and that errors name what is
// missing.
func TestExecutors(t *testing.T) {
	connection, err := table.Connect(t.Context(), map[string]string{"eu": "http://127.0.0.1:1", "us": "http://127.0.0.1:2"})
	if err != nil {
		t.Fatal(err)
	}
	s := RegionsConfig{Config: Config{Regions: []string{"eu", "us"}}, Connection: connection, Table: "leases"}
	list, err := s.New()
	if err != nil || len(list) != 2 || list[0].Region() != "eu" || list[1].Region() != "us" {
		t.Errorf("%v, %v", list, err)
	}
	for want, change := range map[string]func(*RegionsConfig){
		"named twice": func(s *RegionsConfig) { s.Regions = []string{"eu", "eu"} },
		"asia":        func(s *RegionsConfig) { s.Regions = []string{"asia"} },
		"Connection":  func(s *RegionsConfig) { s.Connection = nil },
	} {
		s := s
		change(&s)
		if _, err := s.New(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

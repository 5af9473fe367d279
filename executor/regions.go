package executor

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir/lease/table"
)

// RegionsConfig configures the executors' role: those of some regions, in one process.
type RegionsConfig struct {
	// Config is what they have in common. Region is set for each; Table is made of Connection.
	Config Config
	// Regions are those whose commands are carried out here. Defaults to all of Config.Regions.
	Regions []string
	// Connection makes clients of regions, Table is the name of the table.
	Connection *table.Connection
	Table      string
	// Skew is the most by which a clock may be off. Defaults to 500 ms.
	Skew time.Duration
	// Timeout is for one request, with its answer: the time that a write is under way at most. Defaults to 1 s.
	Timeout time.Duration
}

// New makes the executors. It starts nothing.
func (s RegionsConfig) New() ([]*Executor, error) {
	if s.Connection == nil || s.Table == "" {
		return nil, errors.New("executors: name the table and how to connect to it")
	}
	if len(s.Regions) == 0 {
		s.Regions = s.Config.Regions
	}
	if s.Skew == 0 {
		s.Skew = 500 * time.Millisecond
	}
	if s.Timeout == 0 {
		s.Timeout = time.Second
	}
	var list []*Executor
	for i, region := range s.Regions {
		if slices.Contains(s.Regions[:i], region) {
			return nil, fmt.Errorf("executors: region %q is named twice", region)
		}
		cfg := s.Config
		cfg.Region = region
		cfg.Table = &table.Table{Name: s.Table, New: s.Connection.Client, Skew: s.Skew, Timeout: s.Timeout, Attempts: 1}
		e, err := New(cfg)
		if err != nil {
			return nil, fmt.Errorf("make the executors: %w", err)
		}
		list = append(list, e)
	}
	return list, nil
}

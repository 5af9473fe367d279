package executor

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir/lease/table"
)

// RegionsConfig configures the executors of several regions in one process.
type RegionsConfig struct {
	// Config is what the executors have in common. New sets Region and Table.
	Config Config
	// Regions are the regions whose commands this process carries out. Defaults to Config.Regions.
	Regions []string
	// Connection makes the clients of regions.
	Connection *table.Connection
	// Table is the name of the lease table.
	Table string
	// Skew bounds the error of a clock. Defaults to 500 ms.
	Skew time.Duration
	// Timeout bounds one request and its response. Defaults to 1 s.
	Timeout time.Duration
}

// New makes one executor for each region. It starts nothing.
func (s RegionsConfig) New() ([]*Executor, error) {
	if s.Connection == nil || s.Table == "" {
		return nil, errors.New("executors: RegionsConfig.Connection or Table is not set: set both")
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

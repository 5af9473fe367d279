package main

import (
	"fmt"
	"math"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors"
)

// shares is where the memory budget of a process goes, in bytes. What is used is often less: they are bounds, and do not reach
// theirs together.
type shares struct {
	campaigns int64 // of the spend counter
	cache     int64 // blocks of the store
	writes    int64 // write buffers of the store
	readers   int64 // workers, and one for standbys
	fetch     int64 // of each reader, as they come from the brokers: in memory that becomes about ten times as much
	changes   int64 // of all open transactions, until the store has them: with their records for the brokers about four times as much
	heap      int64 // what Go's collector is told to stay below
	ids       int64 // event ids, at most: beside the budget, because replicas must forget at the same event
}

// sharesOf divides the budget of c.
func sharesOf(c *config.Config) shares {
	budget, readers := int64(c.Memory), int64(c.Processor.Workers)
	if readers == 0 {
		readers = int64(processors.DefaultWorkers())
	}
	readers += int64(min(1, c.Processor.Standbys))
	s := shares{
		readers:   readers,
		campaigns: budget / 4, cache: budget / 8, writes: budget / 8,
		fetch:   min(32<<20, budget/48/readers),
		changes: min(int64(c.Processor.CommitBytes), budget/24),
		heap:    budget,
		ids:     int64(c.Spend.MaxIDs) * idBytes * int64(c.Spend.Partitions),
	}
	if offHeap() {
		s.heap -= s.cache + s.writes
	}
	return s
}

// idBytes is what an event id takes at most.
const idBytes = 21

// offHeap says whether the store takes its memory from C: the collector does not see it.
func offHeap() bool {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return false
	}
	for _, s := range info.Settings {
		if s.Key == "CGO_ENABLED" {
			return s.Value == "1"
		}
	}
	return false
}

// shareRow is a line of `weir config memory`.
type shareRow struct {
	What  string `json:"what"`
	Bytes int64  `json:"bytes"`
	Share string `json:"share"` // of the budget
	Note  string `json:"note"`
}

func (s shares) rows(c *config.Config) []shareRow {
	row := func(what string, bytes int64, note string) shareRow {
		return shareRow{what, bytes, fmt.Sprintf("%d%%", int(math.Round(100*float64(bytes)/float64(c.Memory)))), note}
	}
	fetches := s.readers * s.fetch
	return []shareRow{
		row("memory", int64(c.Memory), "the budget, to which the following belong"),
		row("campaigns", s.campaigns, "those that do not fit cost reads"),
		row("block cache", s.cache, "of the store"),
		row("write buffers", s.writes, "of the store"),
		row("fetched records", 10*fetches, fmt.Sprintf("%d bytes of fetches become about ten times as much", fetches)),
		row("open transactions", 4*s.changes, fmt.Sprintf("%d bytes of changes, until the store has them, become about four times as much", s.changes)),
		row("event ids", s.ids, fmt.Sprintf("not of the budget: spend.max_ids in each of %d partitions, if so many come within spend.duplicate_window", c.Spend.Partitions)),
	}
}

func newConfigMemoryCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "memory",
		Short: "Show where the memory budget goes",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := a.loadConfig()
			if err != nil {
				return err
			}
			return printRows(a, sharesOf(c).rows(c))
		},
	}
}

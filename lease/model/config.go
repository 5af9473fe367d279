package model

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weirhq/weir/lease"
)

// Config is one bounded world. Times are ticks.
type Config struct {
	Rules     *lease.Rules
	Regions   []string
	Keys      []string
	Resources []Resource
	Clients   []Client

	Ticks      int64 // the end of time
	Length     int64 // of a lease
	Skew       int64 // most by which a clock may be off
	Quarantine int64

	// Budgets. Without them there would be no end.
	Crashes, LostAnswers, Repeats      int8
	Liberations, Transfers, Supersedes int8
	Adoptions, Retires, Revives        int8
	Imports                            int8 // of resources that are there already
	Faults                             int8 // of all these together, whichever; 0: each to its own end

	Commands           int     // under way at one time; 0: one
	CutBy              int64   // until when the first region may be cut off, once, and come back; 0: it is not
	RegionLease        int64   // for so long after that it may go on writing
	Renewals, Releases bool    // clients do these too
	CommandSkew        int64   // of the clock of those who send commands
	StampSkew          []int64 // of the clocks by which regions order writes, by region
	TransferWait       int64   // from the decision to transfer until the resource is offered again
	Flight             int64   // most ticks from that decision to its write
	NoIndexLag         bool    // what is found in the index is used at once
	Naive              bool    // clients follow the seed's protocol: look in the index, write on condition
	SkipSettle         bool    // clients take their leases for settled when they have begun to settle them
	AdoptRetiredEarly  bool    // a retired resource is adopted as soon as any other

	Prefix          []string // how the history begins, each move by the beginning of its description; all ways go on from there
	NoSymmetry      bool     // states that differ in names only count each: slower
	NoNormalization bool     // so do those that differ in what has no say any more
}

// Resource is one resource, available from the start on.
type Resource struct {
	Name  string
	Owner int // region
}

// Client is a process that uses leases.
type Client struct {
	Region int
	Skew   int64  // of its clock
	Ops    int8   // that it begins
	Only   string // the key it wants; "": any
}

const (
	maxRegions   = 2
	maxKeys      = 2
	maxResources = 3
	maxClients   = 3
	maxCommands  = 2
)

// valid says what keeps a world from being explored.
func (c *Config) valid() error {
	if len(c.Regions) > maxRegions || len(c.Keys) > maxKeys || len(c.Resources) > maxResources || len(c.Clients) > maxClients || c.Commands > maxCommands {
		return errors.New("the world is too big")
	}
	names := append(append([]string{""}, c.Regions...), c.Keys...)
	for _, r := range c.Resources {
		names = append(names, r.Name)
	}
	for _, s := range []lease.State{lease.Pending, lease.Leased, lease.Released, lease.Superseded} {
		names = append(names, string(s))
	}
	slices.Sort(names)
	if len(slices.Compact(slices.Clone(names))) != len(names) {
		return fmt.Errorf("two things have one name in %q: a state is renamed by names", names)
	}
	return nil
}

package model

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weirhq/weir/lease"
)

// Config is one bounded configuration of the protocol. Times are in ticks.
type Config struct {
	Rules     *lease.Rules
	Regions   []string
	Keys      []string
	Resources []Resource
	Clients   []Client

	Ticks      int64 // last tick
	Length     int64 // lease term
	Skew       int64 // maximum difference of a clock from the true time
	Quarantine int64

	// Budgets: how often each transition can occur. They keep the number of states finite.
	Crashes, LostAnswers, Repeats      int8
	Liberations, Transfers, Supersedes int8
	Adoptions, Retires, Revives        int8
	Imports                            int8 // of resources that exist already
	Faults                             int8 // limit for the sum of all transitions above; 0: each has its own limit only

	Commands           int     // commands under way at one time; 0: one
	CutBy              int64   // last tick at which the first region can be cut off, once; 0: it is never cut off
	WriteLease         int64   // ticks for which it may still write after that
	Renewals, Releases bool    // clients also renew and release
	CommandSkew        int64   // difference of the clock of those who decide commands
	WriteTimeSkew      []int64 // difference of the clocks by which regions order writes, by region
	TransferWait       int64   // ticks from the decision to transfer until the resource is available again
	Flight             int64   // maximum ticks from that decision to its write
	NoIndexLag         bool    // a candidate from the index is used at once
	Naive              bool    // clients follow the protocol of System1's article: search the index, write under a condition
	SkipSettle         bool    // mutation: a client takes a lease for settled when it has begun to settle it
	AdoptRetiredEarly  bool    // mutation: a retired resource is adopted as soon as any other

	Prefix          []string // begin of the history: each entry is the begin of one transition's description
	NoSymmetry      bool     // explores states that differ in names only: slower
	NoNormalization bool     // explores states that differ only in what can have no effect: slower
}

// Resource is one resource. It is available in the first state.
type Resource struct {
	Name  string
	Owner int // region
}

// Client is a process that uses leases.
type Client struct {
	Region int
	Skew   int64  // difference of its clock from the true time
	Ops    int8   // number of operations that it begins
	Only   string // key that it wants; "": any
}

const (
	maxRegions   = 2
	maxKeys      = 2
	maxResources = 3
	maxClients   = 3
	maxCommands  = 2
)

// valid returns an error if the configuration cannot be explored.
func (c *Config) valid() error {
	if len(c.Regions) > maxRegions || len(c.Keys) > maxKeys || len(c.Resources) > maxResources || len(c.Clients) > maxClients ||
		c.Commands > maxCommands {
		return errors.New("the configuration has too many regions, keys, resources, clients or commands")
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
		return fmt.Errorf("names must differ from each other and from the states of key rows, because renaming goes by name: %q", names)
	}
	return nil
}

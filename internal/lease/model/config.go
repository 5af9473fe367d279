package model

import "github.com/weirhq/weir/internal/lease"

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
	Imports                            int8 // of resources that are there already
	Adoptions                          int8
	Retires, Revives                   int8
	Commands                           int     // under way at one time; 0: one
	CutBy                              int64   // until when the first region may be cut off, once, and come back; 0: it is not
	RegionLease                        int64   // for so long after that it may go on writing
	Renewals, Releases                 bool    // clients do these too
	CommandSkew                        int64   // of the clock of those who send commands
	StampSkew                          []int64 // of the clocks by which regions order writes, by region
	TransferWait                       int64   // from the decision to transfer until the resource is offered again
	Flight                             int64   // most ticks from that decision to its write
	NoIndexLag                         bool    // what is found in the index is used at once
	Naive                              bool    // clients follow the seed's protocol: look in the index, write on condition
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

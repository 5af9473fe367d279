package model

import (
	"github.com/weirhq/weir/lease"
)

// state is one state. Rows, clients and commands are numbers in pools of values that states share.
type state struct {
	resources [maxResources]resource
	keys      [maxKeys]keyRows
	clients   [maxClients]uint32
	commands  [maxCommands]uint32 // under way, in descending order
	globals
}

// resource is a resource's row in each region, and the part of its history that invariants need.
type resource struct {
	copies       [maxRegions]uint32
	administered int32     // version at the last command that retired or revived it
	written      writeTime // of the last write
	liberated    bool      // the last write that ended its lease was not its holder's
}

// keyRows are a key's rows by owner, each as every region has it.
type keyRows [maxRegions][maxRegions]uint32

// globals is the rest of a state: time, faults and budgets.
type globals struct {
	now    int8
	fault  fault
	cut    int8 // tick at which the first region was cut off
	healed bool
	budgets
}

// budgets are the numbers of transitions that may still occur.
type budgets struct {
	imports                            int8
	adoptions                          int8
	crashes, lost, repeats             int8
	liberations, transfers, supersedes int8
	retires, revives                   int8
}

func (b *budgets) sum() int {
	return int(b.imports) + int(b.adoptions) + int(b.crashes) + int(b.lost) + int(b.repeats) +
		int(b.liberations) + int(b.transfers) + int(b.supersedes) + int(b.retires) + int(b.revives)
}

// writeTime is the time and the region of a write, by that region's clock. Global tables keep the
// write with the later time.
type writeTime struct {
	at     int8
	region int8
}

// client is a client process.
type client struct {
	op      op
	key     int8
	ops     int8 // operations that it may still begin
	get     lease.Get
	renew   lease.Renew
	release lease.Release
	step    lease.Step // to be executed next
	holds   [maxKeys]lease.Grant
	buffer  lease.Candidate // candidate that was read from the index earlier
}

type op uint8

const (
	idle op = iota
	getting
	renewing
	releasing
	settling
	looking // Config.Naive: searches the index
	taking  // Config.Naive: writes the resource row
)

// command is a decided write, under way to the region that owns the row.
type command struct {
	region   int8
	resource int8 // or -1
	key      int8
	last     int8 // last tick at which it may be executed; 0: any
	write    lease.Write
}

// pool assigns numbers to values. Number 0 is the zero value.
type pool[T comparable] struct {
	ids  map[T]uint32
	list []T
}

func newPool[T comparable]() pool[T] {
	var zero T
	return pool[T]{ids: map[T]uint32{zero: 0}, list: []T{zero}}
}

func (p *pool[T]) id(v T) uint32 {
	n, ok := p.ids[v]
	if !ok {
		n = uint32(len(p.list))
		p.ids[v], p.list = n, append(p.list, v)
	}
	return n
}

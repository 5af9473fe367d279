package model

import (
	"github.com/weirhq/weir/lease"
)

// state is a state. Rows, clients and commands are numbers of values that many states share.
type state struct {
	resources [maxResources]resource
	keys      [maxKeys]keyRows
	clients   [maxClients]uint32
	commands  [maxCommands]uint32 // under way, the greatest number first
	globals
}

// resource is a resource's row in each region, and what of its past the invariants ask for.
type resource struct {
	copies       [maxRegions]uint32
	administered int32 // its version when it was last retired or revived
	stamp        stamp // of the last write
	liberated    bool  // the last to end its lease was nobody who held it
}

// keyRows are a key's rows by owner, and each region's copy of them.
type keyRows [maxRegions][maxRegions]uint32

// globals is what a state has besides: time and budgets.
type globals struct {
	now    int8
	fault  fault
	cut    int8 // when the first region was cut off
	healed bool
	budgets
}

// budgets are how often things may still happen.
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

// stamp is when and where a row was written, by that region's clock.
type stamp struct {
	at     int8
	region int8
}

// client is a process.
type client struct {
	op      op
	key     int8
	ops     int8 // still to begin
	get     lease.Get
	renew   lease.Renew
	release lease.Release
	step    lease.Step // under way
	holds   [maxKeys]lease.Grant
	buffer  lease.Candidate // found in the index some time ago
}

type op uint8

const (
	idle op = iota
	getting
	renewing
	releasing
	settling
	looking // the seed's protocol
	taking
)

// command is a write that was decided on a row, sent to its owner.
type command struct {
	region   int8
	resource int8 // or -1
	key      int8
	last     int8 // tick in which it may be carried out, 0: any
	write    lease.Write
}

// pool numbers values. Number 0 is the zero value.
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

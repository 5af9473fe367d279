package model

import (
	"bytes"
	"errors"
	"hash/maphash"
)

// store is the set of found states, in the order of discovery, each with its predecessor.
type store struct {
	width   int // bytes of a state
	n       int
	states  [][]byte // in chunks, which are never copied
	parents [][]uint32
	table   []uint32 // open addressing: 1 + the number of a state; its length is a power of two
	seed    maphash.Seed
}

const chunk = 1 << 16 // states

func newStore(width int) *store {
	return &store{width: width, table: make([]uint32, 1<<12), seed: maphash.MakeSeed()}
}

// state returns the encoding of state n.
func (s *store) state(n int) []byte {
	at := n % chunk * s.width
	return s.states[n/chunk][at : at+s.width]
}

func (s *store) parent(n int) int { return int(s.parents[n/chunk][n%chunk]) }

// add returns the number of a state, and whether it is new.
func (s *store) add(state []byte, parent int) (n int, isNew bool) {
	if 4*s.n >= 3*len(s.table) {
		s.grow()
	}
	at := s.slot(state)
	if s.table[at] != 0 {
		return int(s.table[at] - 1), false
	}
	if s.n%chunk == 0 {
		s.states, s.parents = append(s.states, make([]byte, chunk*s.width)), append(s.parents, make([]uint32, chunk))
	}
	n = s.n
	s.n++
	copy(s.state(n), state)
	s.parents[n/chunk][n%chunk] = uint32(parent)
	s.table[at] = uint32(s.n)
	return n, true
}

// slot returns the slot of a state in the table, or the free slot for it.
func (s *store) slot(state []byte) uint64 {
	mask := uint64(len(s.table) - 1)
	at := maphash.Bytes(s.seed, state) & mask
	for s.table[at] != 0 && !bytes.Equal(s.state(int(s.table[at]-1)), state) {
		at = (at + 1) & mask
	}
	return at
}

func (s *store) grow() {
	s.table = make([]uint32, 2*len(s.table))
	mask := uint64(len(s.table) - 1)
	for n := range s.n { // all states differ: no comparison is needed
		at := maphash.Bytes(s.seed, s.state(n)) & mask
		for s.table[at] != 0 {
			at = (at + 1) & mask
		}
		s.table[at] = uint32(n + 1)
	}
}

// parts is a state as numbers of its parts: resources, keys, clients, globals, commands.
// Neighbouring states share nearly all parts, and there are few different ones, so three bytes hold
// each number.
type parts [maxResources + maxKeys + maxClients + 1 + maxCommands]uint32

const partBytes = 3

var errParts = errors.New("the configuration has more than 2^24 different parts of states: make it smaller")

func (p *parts) put(to []byte) {
	for i := range len(to) / partBytes {
		to[partBytes*i], to[partBytes*i+1], to[partBytes*i+2] = byte(p[i]), byte(p[i]>>8), byte(p[i]>>16)
	}
}

func (p *parts) get(from []byte) {
	for i := range len(from) / partBytes {
		p[i] = uint32(from[partBytes*i]) | uint32(from[partBytes*i+1])<<8 | uint32(from[partBytes*i+2])<<16
	}
}

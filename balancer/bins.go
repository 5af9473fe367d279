package balancer

import (
	"cmp"
	"slices"
)

// bins counts things by time, in bins of a grain, in order. Only bins with something in them are kept.
type bins []bin

type bin struct {
	at int64 // time divided by the grain
	n  int64
}

// add changes the count at a bin, which never falls below zero if what is taken off was put there.
func (b *bins) add(at, n int64) {
	i, found := slices.BinarySearchFunc(*b, at, func(x bin, at int64) int { return cmp.Compare(x.at, at) })
	if !found {
		*b = slices.Insert(*b, i, bin{at: at})
	}
	if (*b)[i].n += n; (*b)[i].n == 0 {
		*b = slices.Delete(*b, i, i+1)
	}
}

// take removes what is up to a bin, and says how many those were.
func (b *bins) take(upTo int64) (n int64) {
	i := 0
	for ; i < len(*b) && (*b)[i].at <= upTo; i++ {
		n += (*b)[i].n
	}
	*b = slices.Delete(*b, 0, i)
	return n
}

// between is the count of the bins from one to another, both included.
func (b bins) between(from, to int64) (n int64) {
	i, _ := slices.BinarySearchFunc(b, from, func(x bin, at int64) int { return cmp.Compare(x.at, at) })
	for ; i < len(b) && b[i].at <= to; i++ {
		n += b[i].n
	}
	return n
}

// all is the count of all bins.
func (b bins) all() (n int64) {
	for _, x := range b {
		n += x.n
	}
	return n
}

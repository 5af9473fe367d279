package balancer

import "slices"

// bins are counts by time, in order, in bins of equal width. Empty bins are not kept.
type bins []bin

type bin struct {
	at int64 // time divided by the width of a bin
	n  int64
}

// find returns where the bin at is or belongs, and whether it is there.
func (b bins) find(at int64) (i int, found bool) {
	from, to := 0, len(b)
	for from < to {
		if middle := (from + to) / 2; b[middle].at < at {
			from = middle + 1
		} else {
			to = middle
		}
	}
	return from, from < len(b) && b[from].at == at
}

// add adds n to the count of a bin. A count never falls below zero if each subtraction follows its
// addition.
func (b *bins) add(at, n int64) {
	i, found := b.find(at)
	if !found {
		*b = slices.Insert(*b, i, bin{at: at})
	}
	if (*b)[i].n += n; (*b)[i].n == 0 {
		*b = slices.Delete(*b, i, i+1)
	}
}

// take removes the bins up to one, and returns the sum of their counts.
func (b *bins) take(upTo int64) (n int64) {
	i := 0
	for ; i < len(*b) && (*b)[i].at <= upTo; i++ {
		n += (*b)[i].n
	}
	*b = slices.Delete(*b, 0, i)
	return n
}

// between returns the sum of the bins from one to another, both included.
func (b bins) between(from, to int64) (n int64) {
	i, _ := b.find(from)
	for ; i < len(b) && b[i].at <= to; i++ {
		n += b[i].n
	}
	return n
}

// all returns the sum of all bins.
func (b bins) all() (n int64) {
	for _, x := range b {
		n += x.n
	}
	return n
}

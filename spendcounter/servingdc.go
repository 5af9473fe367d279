package spendcounter

import (
	"cmp"
	"slices"
)

// noDC stands for an unknown serving datacentre.
const noDC = ^uint16(0)

// dcNames numbers the serving datacentres of a task. There are few; the bound keeps invalid names
// of a producer from growing the records without end.
type dcNames struct {
	names []string
	rank  []uint16 // by number: the position in the order of names
	last  uint16   // found last; the next one is mostly the same
}

// find returns the number of a name, noDC if it is new.
func (d *dcNames) find(name []byte) uint16 {
	if int(d.last) < len(d.names) && d.names[d.last] == string(name) {
		return d.last
	}
	for i := range d.names {
		if d.names[i] == string(name) {
			d.last = uint16(i)
			return d.last
		}
	}
	return noDC
}

// add returns the number of a name. It adds a new name, and returns noDC if there are too many.
func (d *dcNames) add(name []byte) uint16 {
	if n := d.find(name); n != noDC || len(d.names) >= MaxServingDCs {
		return n
	}
	d.names = append(d.names, string(name))
	d.rank = make([]uint16, len(d.names))
	for place, n := range d.order() {
		d.rank[n] = uint16(place)
	}
	return uint16(len(d.names) - 1)
}

// order returns the numbers in the order of the names.
func (d *dcNames) order() []uint16 {
	o := make([]uint16, len(d.names))
	for i := range o {
		o[i] = uint16(i)
	}
	slices.SortFunc(o, func(a, b uint16) int { return cmp.Compare(d.names[a], d.names[b]) })
	return o
}

func (d *dcNames) sorted() []string { return slices.Sorted(slices.Values(d.names)) }

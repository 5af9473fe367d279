package main

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"

	"github.com/twmb/franz-go/pkg/kgo"
)

// digest stands for the key, the value and the timestamp of a record.
type digest uint64

// original is a log that is copied. All its records differ.
type original struct {
	seed    maphash.Seed
	digests [][]digest // by partition, in the order of the offsets
}

func newOriginal(partitions int) *original {
	return &original{seed: maphash.MakeSeed(), digests: make([][]digest, partitions)}
}

// add adds the next record of a partition.
func (o *original) add(r *kgo.Record) {
	o.digests[r.Partition] = append(o.digests[r.Partition], o.digest(r))
}

func (o *original) digest(r *kgo.Record) digest {
	var h maphash.Hash
	h.SetSeed(o.seed)
	for _, b := range [][]byte{r.Key, r.Value} {
		n := int64(len(b))
		if b == nil {
			n = -1
		}
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(n)))
		h.Write(b)
	}
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(r.Timestamp.UnixMilli())))
	return digest(h.Sum64())
}

// differences are what distinguishes copies from the original, in numbers of records.
type differences struct {
	Duplicates int64 `json:"duplicates"` // copies of a record that has a copy before
	Lost       int64 `json:"lost"`       // records without a copy
	Disordered int64 `json:"disordered"` // first copies behind the copy of a later record
	// Altered are copies with a key, value, timestamp or partition that no record has. The record
	// that was altered is lost.
	Altered int64 `json:"altered"`
}

func (d differences) String() string {
	return fmt.Sprintf("%d duplicates, %d lost, %d disordered, %d altered", d.Duplicates, d.Lost, d.Disordered, d.Altered)
}

// comparison compares copies with the original.
type comparison struct {
	of    *original
	parts []comparedPartition
	differences
}

// comparedPartition is what a comparison knows of a partition.
type comparedPartition struct {
	copied []bool         // by place in the original
	next   int            // place after that of the last copy
	top    int            // greatest place with a copy, plus one
	places map[digest]int // of the original; made when a copy is not at place next
}

func (o *original) compare() *comparison {
	c := &comparison{of: o, parts: make([]comparedPartition, len(o.digests))}
	for p := range c.parts {
		c.parts[p].copied = make([]bool, len(o.digests[p]))
	}
	return c
}

// add adds the next copy of a partition.
func (c *comparison) add(r *kgo.Record) {
	p, want, d := &c.parts[r.Partition], c.of.digests[r.Partition], c.of.digest(r)
	at := p.next
	if at >= len(want) || want[at] != d {
		if p.places == nil {
			p.places = make(map[digest]int, len(want))
			for i, w := range want {
				p.places[w] = i
			}
		}
		var known bool
		if at, known = p.places[d]; !known {
			c.Altered++
			return
		}
	}
	p.next = at + 1
	switch {
	case p.copied[at]:
		c.Duplicates++
		return
	case at < p.top:
		c.Disordered++
	default:
		p.top = at + 1
	}
	p.copied[at] = true
}

// end returns the differences after the last copy.
func (c *comparison) end() differences {
	d := c.differences
	for _, p := range c.parts {
		for _, copied := range p.copied {
			if !copied {
				d.Lost++
			}
		}
	}
	return d
}

package spendcounter

import (
	"bytes"
	"encoding/binary"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/stream"
)

// asOf is the part of every Spend that the commit determines.
type asOf struct {
	incarnation, epoch, sequence uint64
	offset                       int64
}

// append appends the commit as fields 7 to 9.
func (at asOf) append(dst []byte) []byte {
	dst = appendVarint(dst, spendEpoch, at.epoch)
	dst = appendVarint(dst, spendSequence, at.sequence)
	return appendVarint(dst, spendOffset, uint64(at.offset))
}

func (c *Counter) asOf(cm *stream.Commit) asOf {
	return asOf{incarnation: cm.Incarnation, epoch: cm.OwnerEpoch, sequence: cm.Sequence, offset: cm.Next[c.cfg.Inputs.Events]}
}

// appendSpend appends e as an eventspb.Spend, byte for byte as proto.Marshal does. At 100,000
// campaigns per commit, building the message first would cost more than the fold.
func (c *Counter) appendSpend(dst []byte, e *entry, at asOf) []byte {
	key := c.cache.key(e)
	dst = appendSpendKey(dst, key)
	for i := range c.parts(e) {
		dst = c.appendPart(dst, &c.scratch.parts[i])
	}
	dst = appendVarint(dst, 6, e.duplicates)
	dst = appendVarint(at.append(dst), 10, uint64(e.asOfMs))
	return c.appendOrder(dst, key, at)
}

// appendOrder appends what the order of records needs beside the commit, as fields 11 and 12.
func (c *Counter) appendOrder(dst, spendKey []byte, at asOf) []byte {
	dst = appendVarint(dst, spendIncarnation, at.incarnation)
	if len(c.corrections) == 0 {
		return dst
	}
	account, _, _ := bytes.Cut(spendKey, []byte{0})
	return appendVarint(dst, spendCorrections, uint64(c.corrections.of(account, events.Day(readTail(spendKey)>>24))))
}

// appendSpendKey appends the parts of a spend key as fields 1 to 4.
func appendSpendKey(dst, key []byte) []byte {
	ids, tail := key[:len(key)-keyTail-1], key[len(key)-keyTail:]
	nul := slices.Index(ids, 0)
	dst = appendBytes(dst, 1, ids[:nul])
	dst = appendBytes(dst, 2, ids[nul+1:])
	dst = appendVarint(dst, 3, uint64(binary.BigEndian.Uint32(tail)))
	return appendBytes(dst, 4, tail[4:])
}

// parts returns the parts of e by serving datacentre, ordered by name, in c.scratch.parts.
func (c *Counter) parts(e *entry) []part {
	list := c.scratch.parts[:0]
	if e.dc != noDC {
		list = append(list, e.inline())
	}
	if e.spill != 0 {
		for i := range c.cache.spills[e.spill-1] {
			p := &c.cache.spills[e.spill-1][i]
			if p.dc == e.dc {
				list[0].add(p)
			} else {
				list = append(list, *p)
			}
		}
		slices.SortFunc(list, func(a, b part) int { return int(c.dcs.rank[a.dc]) - int(c.dcs.rank[b.dc]) })
	}
	c.scratch.parts = list
	return list
}

// appendPart appends p as field 5, by_dc.
func (c *Counter) appendPart(dst []byte, p *part) []byte {
	sub := c.scratch.sub[:0]
	sub = protowire.AppendString(appendTag(sub, 1, protowire.BytesType), c.dcs.names[p.dc])
	sub = appendVarint(sub, 2, uint64(p.charged))
	sub = appendVarint(sub, 3, uint64(p.refunded))
	for typ, n := range p.counts {
		if n == 0 {
			continue
		}
		sub = appendTag(sub, 4, protowire.BytesType)
		sub = append(sub, byte(3+protowire.SizeVarint(n))) // tag and type, which is 1 to 127, tag and count
		sub = appendVarint(sub, 1, uint64(typ))
		sub = appendVarint(sub, 2, n)
	}
	c.scratch.sub = sub
	return protowire.AppendBytes(appendTag(dst, 5, protowire.BytesType), sub)
}

func appendTag(dst []byte, field protowire.Number, typ protowire.Type) []byte {
	return protowire.AppendTag(dst, field, typ)
}

// appendVarint appends a number. It omits 0, as proto3 does.
func appendVarint(dst []byte, field protowire.Number, n uint64) []byte {
	if n == 0 {
		return dst
	}
	return protowire.AppendVarint(appendTag(dst, field, protowire.VarintType), n)
}

// appendBytes appends a string, which is never empty here.
func appendBytes(dst []byte, field protowire.Number, s []byte) []byte {
	return protowire.AppendBytes(appendTag(dst, field, protowire.BytesType), s)
}

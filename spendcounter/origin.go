package spendcounter

import (
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/stream"
)

// originOf returns the value of the one origin header. Two headers are an error, because either may
// be wrong.
func originOf(headers []stream.Header) (o events.Origin, ok bool) {
	for i := range headers {
		if headers[i].Key != events.OriginHeader {
			continue
		}
		if ok {
			return events.Origin{}, false
		}
		if o, ok = events.ParseOrigin(headers[i].Value); !ok {
			return events.Origin{}, false
		}
	}
	return o, ok
}

// applied is the position in one partition of a topic of an origin datacentre. A topic that was
// created again has positions of its own, beside those of the former one.
type applied struct {
	topic     [16]byte
	partition int32
	next      int64 // the next expected origin offset
}

// position returns the entry of the partition of o, nil if none of its records was applied yet.
func position(list []applied, o events.Origin) *applied {
	for i := range list {
		if list[i].partition == o.Partition && list[i].topic == o.Topic {
			return &list[i]
		}
	}
	return nil
}

// isApplied reports whether the position is behind o: the record was applied or rejected before.
func isApplied(list []applied, o events.Origin) bool {
	p := position(list, o)
	return p != nil && o.Offset < p.next
}

// advance records that the record at o was applied or rejected. It returns the list and the number
// of lost offsets: those from the position to the previous record. Offsets before the first record
// ever seen are not lost: a mirror may begin at any offset.
func advance(list []applied, o events.Origin) ([]applied, uint64) {
	p := position(list, o)
	if p == nil {
		return append(list, applied{o.Topic, o.Partition, o.Offset + 1}), 0
	}
	lost := uint64(max(0, o.Previous+1-p.next))
	p.next = o.Offset + 1
	return list, lost
}

// rejectedCopy is a copied record that the record itself is the reason to reject.
type rejectedCopy struct {
	index  int // in Batch.Records
	origin events.Origin
	refusal
}

// rejectCopies rejects the copied records before index end of b, in their place in the log: one
// that arrives again is a transport duplicate, and not rejected again.
func (c *Counter) rejectCopies(in *input, b *stream.Batch, end int) {
	list := c.rows.rejected
	for len(list) > 0 && list[0].index < end {
		x := &list[0]
		if isApplied(c.applied(in), x.origin) {
			c.origins[in.origin].transportDuplicates++
		} else {
			c.rejectCopy(in, x.origin)
			b.Reject(x.index, x.reason, x.detail)
		}
		list = list[1:]
	}
	c.rows.rejected = list
}

// rejectCopy advances the position past a rejected copy: it is not lost.
func (c *Counter) rejectCopy(in *input, at events.Origin) {
	c.advance(in, at)
	o := &c.origins[in.origin]
	if o.rejected++; o.minute != nil && !in.adjustments {
		o.minute.Rejected++
	}
}

// applied returns the positions of the copies in an input.
func (c *Counter) applied(in *input) []applied {
	o := &c.origins[in.origin]
	switch {
	case !in.copied:
		return nil
	case in.adjustments:
		return o.adjustments
	}
	return o.events
}

// advance moves the position of the copies in an input past the record at a place, and counts what
// was lost before it.
func (c *Counter) advance(in *input, at events.Origin) {
	o := &c.origins[in.origin]
	list := &o.events
	if in.adjustments {
		list = &o.adjustments
	}
	var lost uint64
	*list, lost = advance(*list, at)
	o.lost += lost
	if o.minute != nil && !in.adjustments {
		o.minute.Lost += lost
	}
}

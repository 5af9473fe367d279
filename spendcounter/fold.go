package spendcounter

import (
	"fmt"
	"math"
	"slices"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/dense"
	"github.com/weirhq/weir/internal/idset"
	"github.com/weirhq/weir/stream"
)

// ringSpanMs is the length of the spans from which the ring by ingest time is rebuilt. Two of them
// always cover the last 60 s.
const ringSpanMs = 60_000

// Fold folds the records of b. It passes rejected records to b.Reject. An error means that state
// could not be read.
func (c *Counter) Fold(b *stream.Batch) error {
	in, err := c.begin(b)
	if err != nil || len(b.Records) == 0 {
		return err
	}
	c.changed = true
	rejects := len(b.Rejects)
	if in.adjustments {
		err = c.foldAdjustments(in, b)
	} else {
		err = c.foldEvents(in, b)
	}
	if err != nil {
		return c.fail(err)
	}
	in.next = b.Records[len(b.Records)-1].Offset + 1
	slices.SortFunc(b.Rejects[rejects:], func(x, y stream.Reject) int { return x.Index - y.Index })
	return nil
}

func (c *Counter) foldEvents(in *input, b *stream.Batch) error {
	defer c.rows.release()
	o := &c.origins[in.origin]
	o.lastInputMs = b.NowMs
	var folded uint64
	for from := 0; from < len(b.Records); from += chunk {
		to := min(from+chunk, len(b.Records))
		c.readChunk(in, b, from, to)
		careful := c.mayOverflow()
		for i := 0; i < c.rows.n; {
			limit := c.rows.n
			if careful {
				limit = i + 1
			}
			live, next, err := c.admit(in, b, i, limit)
			if err != nil {
				return err
			}
			if err := c.apply(in, i, live); err != nil {
				return err
			}
			folded += uint64(live - i)
			i = next
		}
		c.rejectCopies(in, b, to)
	}
	c.health.processed(b.NowMs, folded)
	return nil
}

// readChunk is the first pass: it decodes the valid ones of records [from, to) into rows.
func (c *Counter) readChunk(in *input, b *stream.Batch, from, to int) {
	n, pairs := 0, c.rows.pairs
	if pairs != nil {
		pairs.buf = pairs.buf[:0]
	}
	for i := from; i < to; i++ {
		bad := c.read(in, b, i, n)
		switch {
		case bad.reason == "":
			if pairs != nil {
				pairs.read(n, c.check.view.LineItem, c.check.view.Arm)
			}
			n++
		case in.copied:
			c.setAside(in, b, i, bad)
		default:
			b.Reject(i, bad.reason, bad.detail)
		}
	}
	c.rows.n = n
}

// setAside keeps a copied record for rejectCopies. Without an origin it has no place in the log of
// its origin, where it becomes a lost record.
func (c *Counter) setAside(in *input, b *stream.Batch, i int, bad refusal) {
	at, ok := originOf(b.Records[i].Headers)
	if !ok {
		c.origins[in.origin].rejected++
		b.Reject(i, bad.reason, bad.detail)
		return
	}
	c.rows.rejected = append(c.rows.rejected, rejectedCopy{i, at, bad})
}

// mayOverflow reports whether the prices of all rows together could overflow the sum of the task.
// If not, no row can, whichever rows are duplicates, and no campaign's sum can, because it is part
// of the task's. If so, rows are applied one by one.
func (c *Counter) mayOverflow() bool {
	left := uint64(math.MaxInt64 - c.micros)
	for _, p := range c.rows.price[:c.rows.n] {
		if uint64(p) > left {
			return true
		}
		left -= uint64(p)
	}
	return false
}

// admit is the second pass. It takes rows in log order from i on, up to limit or up to the next row
// whose bucket may be full. The rows to be folded then are [i, live), and next is the first row
// that admit has not seen. A row that admit does not reject is folded, so admit advances the
// clocks.
func (c *Counter) admit(in *input, b *stream.Batch, i, limit int) (live, next int, err error) {
	r, o := &c.rows, &c.origins[in.origin]
	live = i
	careful := limit == i+1
	for j := i; j < limit; j++ {
		if in.copied {
			c.rejectCopies(in, b, int(r.rec[j]))
			if isApplied(o.events, r.origin[j]) {
				o.transportDuplicates++
				continue
			}
		}
		offset := b.Records[r.rec[j]].Offset
		if r.typ[j] == heartbeat {
			c.advanceClocks(in, j, offset)
			continue
		}
		a, err := c.admission(j, o.watermarkMs)
		if err != nil {
			return live, j, err
		}
		if a.full && live > i { // rows before this one may be duplicates, which take no room
			return live, j, nil
		}
		if bad := c.refuse(j, &a, careful); bad.reason != "" {
			if b.Reject(int(r.rec[j]), bad.reason, bad.detail); in.copied {
				c.rejectCopy(in, r.origin[j])
			}
			continue
		}
		r.bucket[live], r.set[live] = c.enter(&a, in, j, offset)
		c.advanceClocks(in, j, offset)
		r.move(live, j)
		live++
	}
	return live, limit, nil
}

// refuse makes the checks that depend on the state at row j: whether it is in time, whether its
// price fits, and whether its serving datacentre is known.
func (c *Counter) refuse(j int, a *admission, careful bool) refusal {
	r := &c.rows
	if a.late && c.cfg.RejectLate && !r.imported[j] {
		return refusal{ReasonLate, fmt.Sprintf("event at %d, ingest at %d", r.event[j], r.ingest[j])}
	}
	if careful && !r.known[j] {
		if _, ok := events.AddMicros(c.micros, r.price[j]); !ok && (a.bucket == nil || a.full || !a.bucket.set.Has(r.id[j])) {
			return refusal{ReasonOverflow, "the sum of the shard would overflow int64"}
		}
	}
	if r.dc[j] == noDC {
		if r.dc[j] = c.dcs.add(r.serving[j]); r.dc[j] == noDC {
			return refusal{ReasonBadID, "serving_dc " + quote(r.serving[j]) + ": the partition has 256 other names, which is the maximum"}
		}
	}
	return refusal{}
}

// apply makes the other passes over rows [i, live): it probes the ids, finds the entries, and adds.
func (c *Counter) apply(in *input, i, live int) error {
	if i == live {
		return nil
	}
	r := &c.rows
	c.window.insert(r, i, live)
	if err := c.findEntries(i, live); err != nil {
		return err
	}
	o := &c.origins[in.origin]
	for j := i; j < live; j++ {
		n := r.entry[j]
		e := &c.cache.list[n]
		c.cache.touch(e, n)
		e.asOfMs = max(e.asOfMs, r.ingest[j])
		t := c.totals.of(r.day[j], r.currency[j]) // also of duplicates: each row has a total
		if r.found[j] != idset.New {
			e.duplicates++
			c.duplicates++
			if r.found[j] == idset.Differs {
				c.conflicts++
			}
			continue
		}
		c.cache.charge(e, r.dc[j], r.typ[j], r.price[j])
		if c.cfg.Hours {
			if hour := c.hourOf(r.day[j], r.event[j]); hour != 0 {
				c.cache.hours.add(n, hour, tally{r.price[j], 1})
			}
		}
		if r.pairs != nil && r.pairs.key[j] != nil && r.day[j] != lifetimeDay {
			c.cache.pairs.charge(n, r.pairs.key[j], tally{r.price[j], 1})
		}
		o.count++
		o.micros += r.price[j]
		c.micros += r.price[j]
		t.charged, t.events = t.charged+r.price[j], t.events+1
	}
	return nil
}

// findEntries finds the entries of rows [i, live), and adds those that are not in memory. It
// touches slots, entries and keys for all rows before it compares any, so that their cache misses
// overlap.
func (c *Counter) findEntries(i, live int) error {
	r, x := &c.rows, uint64(0)
	for _, h := range r.key[i:live] {
		x ^= c.cache.index.Prefetch(h)
	}
	for j, h := range r.key[i:live] {
		r.entry[i+j], _ = c.cache.index.First(h)
	}
	for _, n := range r.entry[i:live] {
		if n != dense.None {
			x ^= uint64(c.cache.list[n].epoch)
		}
	}
	x ^= c.cache.hours.prefetch(r.entry[i:live])
	for _, n := range r.entry[i:live] {
		if n != dense.None {
			x ^= uint64(c.cache.keys[int(c.cache.list[n].keyAt)*keyAlign])
		}
	}
	c.cache.sink ^= x
	for j := i; j < live; j++ {
		n := r.entry[j]
		if n != dense.None && c.cache.matches(n, r.account[j], r.campaign[j], tailOf(r.day[j], r.currency[j])) {
			continue
		}
		var err error
		if r.entry[j], err = c.entry(r.key[j], r.account[j], r.campaign[j], r.day[j], r.currency[j]); err != nil {
			return err
		}
	}
	return nil
}

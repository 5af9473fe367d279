package sim

import (
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/weirhq/weir/lease"
)

// rowID is the number of a row, the same in all regions: first the resources, then the rows of each
// key by region, then all other rows.
type rowID int

func (w *simulation) keyRow(key, region int) rowID {
	return rowID(w.s.Resources + key*w.s.Regions + region)
}

func (w *simulation) plainRow(n int) rowID          { return rowID(w.s.Resources + w.s.Keys*w.s.Regions + n) }
func (w *simulation) poolRow() rowID                { return w.plainRow(0) }
func (w *simulation) regionRow(region int) rowID    { return w.plainRow(1 + region) }
func (w *simulation) heartbeatRow(region int) rowID { return w.plainRow(1 + w.s.Regions + region) }
func (w *simulation) demandRow(region int) rowID    { return w.plainRow(1 + 2*w.s.Regions + region) }
func (w *simulation) homeRow() rowID                { return w.plainRow(1 + 3*w.s.Regions) }
func (w *simulation) writeLeaseRow(region, by int) rowID {
	return w.plainRow(2 + (3+region)*w.s.Regions + by)
}
func (w *simulation) isResource(id rowID) bool { return int(id) < w.s.Resources }
func (w *simulation) isLease(id rowID) bool    { return id < w.plainRow(0) }
func (w *simulation) keyOf(id rowID) (k, reg int) {
	n := int(id) - w.s.Resources
	return n / w.s.Regions, n % w.s.Regions
}

func resourceName(i int) string { return "r" + strconv.Itoa(i+1) }
func keyName(i int) string      { return "k" + strconv.Itoa(i+1) }

// numbered returns the number in a name of resourceName or keyName.
func numbered(name string) int {
	n, err := strconv.Atoi(name[1:])
	if err != nil {
		return -1
	}
	return n - 1
}

// rowName returns a row's name for texts.
func (w *simulation) rowName(id rowID) string {
	if w.isResource(id) {
		return resourceName(int(id))
	}
	k, r := w.keyOf(id)
	return keyName(k) + "@" + regionNames[r]
}

// item is a row with all its attributes. Row is empty if the item is not part of a lease.
type item struct {
	lease.Row
	granted  int64 // of a key row: time at which its lease began
	settings settings
	count    int64 // number of refusals; time of a heartbeat; end of a write lease; number of the home region

	writer int
	stamp  int64  // time of the write by the writer's clock
	seq    uint64 // order of the writes in the writer's region
}

// settings are the settings of a pool or a region.
type settings struct {
	version    int64
	quarantine int64
	buckets    int32
	state      string // of a write lease: closed if it must not be renewed
}

// newer reports whether i replaces o under last writer wins.
func (i *item) newer(o *item) bool {
	switch {
	case o.seq == 0:
		return true
	case i.writer == o.writer:
		return i.seq > o.seq
	case i.stamp != o.stamp:
		return i.stamp > o.stamp
	}
	return i.writer > o.writer
}

// region is the table of one region: its copy of each row, the index and the stream.
type region struct {
	w       *simulation
	id      int
	name    string
	off     int64 // error of its clock
	rng     *rand.Rand
	items   []item
	index   [][]indexEntry // by resource: versions of the index entry
	shards  [shardCount][]streamed
	waiting []func() // replication that waits until the region is no longer cut off
}

const shardCount = 2

type indexEntry struct {
	from int64
	row  lease.Row
}

// streamed is a record of the stream.
type streamed struct {
	at   int64
	id   rowID
	item item
}

func (w *simulation) newRegion(i int) *region {
	r := &region{w: w, id: i, name: regionNames[i], rng: w.newRand("region" + regionNames[i])}
	r.off = w.off(r.rng)
	r.items = make([]item, w.writeLeaseRow(w.s.Regions, 0))
	r.index = make([][]indexEntry, w.s.Resources)
	return r
}

func (r *region) clock() int64 { return r.w.now + r.off }

// write makes a write on this region's copy if its conditions hold there. granted is stored in a
// key row that becomes pending.
func (r *region) write(id rowID, wr *lease.Write, granted int64) (row lease.Row, found, ok bool) {
	before := r.items[id]
	found = before.Version > 0
	if !wr.Holds(&before.Row) {
		return before.Row, found, false
	}
	after := before
	after.Row = wr.Apply(before.Row)
	if wr.Args.State == lease.Pending {
		after.granted = granted
	}
	r.put(id, after)
	r.w.h.wrote(r, id, wr, &before, &r.items[id])
	return after.Row, true, true
}

// put writes a row here and sends it to the other regions and the stream.
func (r *region) put(id rowID, it item) {
	w := r.w
	w.seq++
	it.writer, it.stamp, it.seq = r.id, r.clock(), w.seq
	r.keep(id, &it)
	shard := int(id) % shardCount
	r.shards[shard] = append(r.shards[shard], streamed{w.now, id, it})
	for _, to := range w.regions {
		if to != r {
			r.send(to, id, it)
		}
	}
}

// send replicates an item. Items may arrive in another order.
func (r *region) send(to *region, id rowID, it item) {
	w := r.w
	lag := 5 + r.rng.Int64N(2*w.s.Lag)
	if w.faults.on(SlowCopies, r.id) {
		lag += r.rng.Int64N(4000)
	}
	if w.faults.on(Adopt, r.id) {
		r.waiting = append(r.waiting, func() { r.send(to, id, it) })
		return
	}
	w.after(lag, func() { r.arrive(to, id, it) })
}

func (r *region) arrive(to *region, id rowID, it item) {
	for _, at := range []*region{r, to} {
		if r.w.faults.on(CutRegion, at.id) || at == to && r.w.faults.on(Adopt, at.id) {
			at.waiting = append(at.waiting, func() { r.send(to, id, it) })
			return
		}
	}
	if !it.newer(&to.items[id]) {
		return
	}
	to.keep(id, &it)
	if id >= r.w.heartbeatRow(0) && id < r.w.demandRow(0) {
		shard := int(id) % shardCount
		to.shards[shard] = append(to.shards[shard], streamed{r.w.now, id, it})
	}
}

// keep stores an item as this region's copy. The index follows with a delay, in order.
func (r *region) keep(id rowID, it *item) {
	r.items[id] = *it
	if !r.w.isResource(id) {
		return
	}
	list := r.index[id]
	from := r.w.now + r.rng.Int64N(20)
	if r.rng.IntN(50) == 0 {
		from += r.rng.Int64N(2000)
	}
	if n := len(list); n > 0 {
		from = max(from, list[n-1].from)
	}
	for len(list) > 1 && list[1].from <= r.w.now {
		list = slices.Delete(list, 0, 1)
	}
	r.index[id] = append(list, indexEntry{from, it.Row})
}

// offered returns the resources that the index shows as available at the time now of the caller's
// clock.
func (r *region) offered(now int64) (list []lease.Candidate) {
	offer := lease.Write{Rule: &r.w.rules.Offered, Args: lease.Row{Owner: r.name}, Now: now, Skew: r.w.s.Skew}
	for i, shows := range r.index {
		for n := len(shows) - 1; n >= 0; n-- {
			if shows[n].from > r.w.now {
				continue
			}
			if row := &shows[n].row; offer.Holds(row) {
				list = append(list, lease.Candidate{Resource: resourceName(i), Version: row.Version})
			}
			break
		}
	}
	return list
}

// call is a request to a region's endpoint.
type call struct {
	from    int // region of the client
	to      *region
	timeout int64
	late    int64 // greatest delay of its execution after the timeout
	do      func()
	done    func(answered bool)
}

// ask sends a request. The request or its response may be delayed or lost.
func (w *simulation) ask(rng *rand.Rand, c call) {
	there, back := 1+rng.Int64N(15), 1+rng.Int64N(15)
	lost := 400
	if w.faults.on(LoseNet, c.from) {
		lost = 5
	}
	fail := func() { c.done(false) }
	if w.cut(c.from, c.to.id) {
		w.after(20+rng.Int64N(200), fail)
		return
	}
	switch rng.IntN(lost) {
	case 0:
		w.after(c.timeout, fail)
		return
	case 1:
		back = c.timeout
	case 2, 3:
		there = rng.Int64N(c.timeout + c.late)
	}
	w.after(there, func() {
		if w.cut(c.from, c.to.id) {
			w.after(c.timeout-there, fail)
			return
		}
		c.do()
		if there+back >= c.timeout {
			w.h.mark("unknown outcome")
			w.after(c.timeout-there, fail)
			return
		}
		w.after(back, func() { c.done(true) })
	})
}

func (w *simulation) cut(a, b int) bool {
	return w.faults.off[a] || w.faults.off[b] || a != b && (w.faults.cut(a) || w.faults.cut(b))
}

package balancer

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// rig runs a Balancer as the runtime does: what a Flush handed over is in the store before the next call.
type rig struct {
	t      testing.TB
	cfg    Config
	b      *Balancer
	store  map[string][]byte // table and key
	timers map[int64]bool    // by time; as committed
	set    map[int64]bool    // in the open transaction
	offset int64
	nowMs  int64
	readMs int64           // when records were written, if later than now
	out    []stream.Change // all that was emitted
	flown  int64           // flights when it was opened
}

var regions3 = []string{"eu", "us", "ap"} //nolint:gochecknoglobals // a table: internal/lint complains about writes to it

const start int64 = 1_700_000_000_000

func newRig(t testing.TB, cfg Config) *rig {
	r := &rig{t: t, cfg: cfg, store: map[string][]byte{}, timers: map[int64]bool{}, nowMs: start}
	r.open()
	return r
}

// open takes the partition over.
func (r *rig) open() {
	r.t.Helper()
	r.set = map[int64]bool{}
	b, err := New(r.cfg, stream.Task{Partition: 3, Get: r.get, Scan: r.scan, Timers: r})
	if err != nil {
		r.t.Fatal(err)
	}
	r.b = b
	r.flown = 0
	for _, p := range b.order {
		for _, f := range p.transfers {
			if !f.failed {
				r.flown++
			}
		}
	}
}

// crash loses the open transaction, and takes the partition over.
func (r *rig) crash() {
	r.t.Helper()
	r.open()
}

func (r *rig) Set(t stream.Timer)    { r.set[t.AtMs] = true }
func (r *rig) Cancel(t stream.Timer) { r.set[t.AtMs] = false }

func (r *rig) get(table byte, key []byte) ([]byte, error) {
	return slices.Clone(r.store[string(table)+string(key)]), nil
}

func (r *rig) scan(table byte, prefix []byte, fn func(key, value []byte) error) error {
	for _, k := range slices.Sorted(maps.Keys(r.store)) {
		if strings.HasPrefix(k, string(table)+string(prefix)) {
			if err := fn([]byte(k[1:]), r.store[k]); err != nil {
				return err
			}
		}
	}
	return nil
}

// apply commits what a Flush handed over.
func (r *rig) apply(ch *stream.Changes) {
	for _, c := range ch.List {
		k := string(c.Table) + string(c.Key)
		switch c.Op {
		case stream.OpPut:
			r.store[k] = c.Value
		case stream.OpDelete:
			delete(r.store, k)
		case stream.OpEmit:
			r.out = append(r.out, c)
		default:
			r.t.Errorf("an operation %d", c.Op)
		}
	}
}

// fold gives records of changes to the balancer, and returns what it refuses.
func (r *rig) fold(list ...*eventspb.LeaseChange) []stream.Reject {
	r.t.Helper()
	var values [][]byte
	for _, c := range list {
		v, err := proto.Marshal(c)
		if err != nil {
			r.t.Fatal(err)
		}
		values = append(values, v)
	}
	return r.foldValues("lease.changes", values...)
}

func (r *rig) foldValues(topic string, values ...[]byte) []stream.Reject {
	r.t.Helper()
	in := &stream.Batch{Topic: topic, Partition: 3, NowMs: r.nowMs}
	for _, v := range values {
		in.Records = append(in.Records, stream.Record{Value: v, Offset: r.offset, TimeMs: max(r.nowMs, r.readMs)})
		r.offset++
	}
	if err := r.b.Fold(in); err != nil {
		r.t.Fatal(err)
	}
	return in.Rejects
}

// commit fires what is due and ends the transaction.
func (r *rig) commit() {
	r.t.Helper()
	for {
		var due []stream.Timer
		for _, list := range []map[int64]bool{r.timers, r.set} {
			for at, on := range list {
				if gone, known := r.set[at]; on && at <= r.nowMs && (!known || gone) {
					due = append(due, stream.Timer{Clock: stream.WallTime, AtMs: at, Key: []byte("tick")})
				}
			}
		}
		if len(due) == 0 {
			break
		}
		for _, d := range due {
			r.set[d.AtMs] = false
		}
		if err := r.b.OnTimer(r.nowMs, due); err != nil {
			r.t.Fatal(err)
		}
	}
	var ch stream.Changes
	if err := r.b.Flush(stream.Commit{NowMs: r.nowMs}, &ch); err != nil {
		r.t.Fatal(err)
	}
	r.apply(&ch)
	for at, on := range r.set {
		if on {
			r.timers[at] = true
		} else {
			delete(r.timers, at)
		}
	}
	clear(r.set)
}

// pass lets time go on.
func (r *rig) pass(ms int64) {
	r.t.Helper()
	r.nowMs += ms
	r.commit()
}

// beats are heartbeats of all regions, seen by all.
func (r *rig) beats() {
	r.t.Helper()
	for _, at := range r.cfg.Regions {
		for _, from := range r.cfg.Regions {
			r.fold(&eventspb.LeaseChange{Region: at, AtMs: r.nowMs, Row: &eventspb.LeaseChange_Heartbeat{Heartbeat: &eventspb.LeaseHeartbeat{
				From: from, WrittenMs: r.nowMs - 100, SeenMs: r.nowMs,
			}}})
		}
	}
}

// change is a resource's row as its owner's stream has it.
func (r *rig) change(pool string, m *eventspb.LeaseResource) *eventspb.LeaseChange {
	return &eventspb.LeaseChange{Region: m.Owner, Client: "c", Pool: pool, AtMs: r.nowMs, Row: &eventspb.LeaseChange_Resource{Resource: proto.CloneOf(m)}}
}

// isCommand reports whether an output is the commands of a region.
func isCommand(output string) bool {
	return strings.HasPrefix(output, events.LeaseCommandsTopic(""))
}

// commands are the transfers that were commanded since the last call, and notes the notes.
func (r *rig) commands() (list []*eventspb.LeaseCommand, notes []*eventspb.LeaseJournalEntry, headroom []*eventspb.LeaseHeadroom) {
	r.t.Helper()
	for _, c := range r.out {
		var err error
		switch c.Output() {
		case events.LeaseHeadroomTopic:
			h := &eventspb.LeaseHeadroom{}
			err = proto.Unmarshal(c.Value, h)
			headroom = append(headroom, h)
		case events.LeaseJournalTopic:
			n := &eventspb.LeaseJournalEntry{}
			err = proto.Unmarshal(c.Value, n)
			notes = append(notes, n)
		default:
			m := &eventspb.LeaseCommand{}
			if err = proto.Unmarshal(c.Value, m); m.GetTransfer() != nil {
				list = append(list, m)
			}
			if c.Output() != events.LeaseCommandsTopic(m.Region) || c.To.Partition != 3 {
				r.t.Errorf("a command for %s went to %s, partition %d", m.Region, c.Output(), c.To.Partition)
			}
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
	r.out = nil
	return list, notes, headroom
}

// rows are all resources as the balancer knows them: in the store, and over it what is not there yet.
func (r *rig) rows() map[string]row {
	rows := map[string]row{}
	for k, v := range r.store {
		if k[0] == TableResources {
			got, err := decodeRow(v, nil)
			if err != nil {
				r.t.Fatal(err)
			}
			rows[k[1:]] = got
		}
	}
	for _, p := range r.b.order {
		for name, e := range p.changedRows {
			rows[joinNames(p.key, name)] = e.row
		}
	}
	return rows
}

// audit is I10: each resource is in exactly one of free, leased and other, of one region; the counts are what a recount
// gives; so are those of flights.
func (r *rig) audit() error {
	type counts struct{ free, leased, other, coming, leaving, barred int64 }
	want, got := map[string]counts{}, map[string]counts{}
	add := func(m map[string]counts, key string, c counts) {
		x := m[key]
		x = counts{x.free + c.free, x.leased + c.leased, x.other + c.other, x.coming + c.coming, x.leaving + c.leaving, x.barred + c.barred}
		if m[key] = x; x == (counts{}) {
			delete(m, key)
		}
	}
	for key, row := range r.rows() {
		site := key[:strings.LastIndex(key, "\x00")+1] + row.owner
		switch {
		case row.gone:
		case row.free():
			add(want, site, counts{free: 1})
		case row.leased():
			add(want, site, counts{leased: 1})
		default:
			add(want, site, counts{other: 1})
		}
	}
	for _, p := range r.b.order {
		for _, f := range p.transfers {
			if f.failed {
				add(want, joinNames(p.key, r.cfg.Regions[f.from]), counts{barred: 1})
				continue
			}
			add(want, joinNames(p.key, r.cfg.Regions[f.from]), counts{leaving: 1})
			add(want, joinNames(p.key, r.cfg.Regions[f.to]), counts{coming: 1})
		}
		for i := range p.regions {
			s := &p.regions[i]
			if s.leases != s.leased.all() {
				return fmt.Errorf("%q in %s: %d leases, %d by their ends", p.key, r.cfg.Regions[i], s.leases, s.leased.all())
			}
			for _, b := range slices.Concat(s.leased, s.freeLater) {
				if b.n < 0 {
					return fmt.Errorf("%q in %s: %d in a bin", p.key, r.cfg.Regions[i], b.n)
				}
			}
			add(got, joinNames(p.key, r.cfg.Regions[i]), counts{s.free + s.freeLater.all(), s.leases, s.other, s.inTransit, s.outbound, s.excluded})
		}
	}
	s := r.b.Stats()
	commanded, fly := r.flown, int64(0)
	for _, n := range s.Moved {
		commanded += n
	}
	for _, p := range r.b.order {
		for i := range p.regions {
			fly += p.regions[i].inTransit
		}
	}
	if ended := s.Arrived + s.Overtaken + s.Refused + s.GivenUp; commanded != ended+fly {
		return fmt.Errorf("%d resources were commanded, of %d is known what became of them, %d fly: %+v", commanded, ended, fly, s)
	}
	if !maps.Equal(want, got) {
		return fmt.Errorf("counts are not what a recount gives:\ngot  %v\nwant %v", got, want)
	}
	return r.auditFree()
}

// auditFree compares the store's table of available resources with its rows.
func (r *rig) auditFree() error {
	want := map[string]int64{}
	for k, v := range r.store {
		if k[0] != TableResources {
			continue
		}
		row, err := decodeRow(v, nil)
		if err != nil {
			return err
		}
		if at := strings.LastIndex(k, "\x00"); row.free() {
			want[string(freeKey(k[1:at], &row, k[at+1:]))] = row.version
		}
	}
	n := 0
	for k, v := range r.store {
		if k[0] != TableFree {
			continue
		}
		n++
		if version, _ := binary.Uvarint(v); want[k[1:]] != int64(version) {
			return fmt.Errorf("%q is in the table of the available at version %d; should be at %d", k[1:], version, want[k[1:]])
		}
	}
	if n != len(want) {
		return fmt.Errorf("%d in the table of the available, %d rows are", n, len(want))
	}
	return nil
}

// same compares the balancer with one that begins from its state.
func (r *rig) same() error {
	old, flown := r.b, r.flown
	r.open()
	defer func() { r.b, r.flown = old, flown }()
	if a, b := decisionState(old), decisionState(r.b); a != b {
		return fmt.Errorf("a balancer that begins from the state is another:\nwas %s\nis  %s", a, b)
	}
	return nil
}

// decisionState is all that decisions are made from.
func decisionState(b *Balancer) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%d %d;", b.firedMs, b.plannedMs)
	for i := range b.regions {
		r := &b.regions[i]
		fmt.Fprintf(&s, "region %d %d %d %v %s;", r.clockMs, r.heartbeatMs, r.backlogMs, r.seen, r.settings.State)
	}
	for _, p := range b.order {
		fmt.Fprintf(&s, "\npool %q %d %d %d %v", p.key, p.method, p.readMs, p.floorsNoted, p.settings.Version)
		for _, name := range slices.Sorted(maps.Keys(p.transfers)) {
			f := *p.transfers[name]
			f.changed = false
			fmt.Fprintf(&s, " %s:%+v", name, f)
		}
		for i := range p.regions {
			x := &p.regions[i]
			fmt.Fprintf(&s, "\n  %d %d %v %v %d %d | %d %d %d | %x %v | %d %d %d %d | %v %d %v", x.free, x.freeBin, x.freeLater, x.leased, x.leases, x.other,
				x.inTransit, x.outbound, x.excluded, x.series.Encode(nil), x.profile.mean, x.refused, x.minute, x.refusedNow, x.refusedBefore, x.published.GetAsOfMs(), x.commandedMs, x.tableStale)
		}
	}
	return s.String()
}

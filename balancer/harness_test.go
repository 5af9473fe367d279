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

// harness runs a Balancer as the runtime does: the changes of a Flush are in the store before the
// next call.
type harness struct {
	t             testing.TB
	cfg           Config
	partition     int32
	b             *Balancer
	standby       *Balancer         // follows what apply commits
	lost          byte              // a table whose rows the standby does not get
	store         map[string][]byte // table and key
	timers        map[int64]bool    // by time; the committed ones
	set           map[int64]bool    // changed in the open transaction
	offset        int64
	nowMs         int64
	readMs        int64           // timestamp of the records, if later than nowMs
	out           []stream.Change // all output records
	openTransfers int64           // transfers in transit when the balancer was opened
}

var regions3 = []string{"eu", "us", "ap"} //nolint:gochecknoglobals // a table: internal/lint complains about writes to it

const start int64 = 1_700_000_000_000

func newHarness(t testing.TB, cfg Config) *harness {
	r := &harness{t: t, cfg: cfg, partition: 3, store: map[string][]byte{}, timers: map[int64]bool{}, nowMs: start}
	r.open()
	r.newStandby()
	return r
}

// newStandby makes a balancer that follows the rows from now on.
func (r *harness) newStandby() {
	r.t.Helper()
	var err error
	if r.standby, err = New(r.cfg, stream.Task{Partition: r.partition, Get: r.get, Scan: r.scan}); err != nil {
		r.t.Fatal(err)
	}
}

// follow gives the changes of a Flush to the standby, as the runtime does: each row once, in order.
func (r *harness) follow(ch *stream.Changes) {
	last := map[string]stream.Change{}
	for _, c := range ch.List {
		if c.Op != stream.OpEmit && c.Table != r.lost {
			last[string(c.Table)+string(c.Key)] = c
		}
	}
	var list []stream.Change
	for _, k := range slices.Sorted(maps.Keys(last)) {
		list = append(list, last[k])
	}
	if err := r.standby.Follow(list); err != nil {
		r.t.Fatal(err)
	}
}

// open builds the balancer from the committed state, as a takeover does.
func (r *harness) open() {
	r.t.Helper()
	r.set = map[int64]bool{}
	b, err := New(r.cfg, stream.Task{Partition: r.partition, Get: r.get, Scan: r.scan, Timers: r})
	if err != nil {
		r.t.Fatal(err)
	}
	r.b = b
	r.openTransfers = 0
	for _, p := range b.order {
		for _, f := range p.transfers {
			if !f.failed {
				r.openTransfers++
			}
		}
	}
}

// crash discards the open transaction and takes the partition over.
func (r *harness) crash() {
	r.t.Helper()
	r.open()
}

func (r *harness) Set(t stream.Timer)    { r.set[t.AtMs] = true }
func (r *harness) Cancel(t stream.Timer) { r.set[t.AtMs] = false }

func (r *harness) get(table byte, key []byte) ([]byte, error) {
	return slices.Clone(r.store[string(table)+string(key)]), nil
}

func (r *harness) scan(table byte, prefix []byte, fn func(key, value []byte) error) error {
	for _, k := range slices.Sorted(maps.Keys(r.store)) {
		if strings.HasPrefix(k, string(table)+string(prefix)) {
			if err := fn([]byte(k[1:]), r.store[k]); err != nil {
				return err
			}
		}
	}
	return nil
}

// apply commits the changes of a Flush.
func (r *harness) apply(ch *stream.Changes) {
	if r.standby != nil {
		r.follow(ch)
	}
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

// fold gives changes to the balancer and returns the rejects.
func (r *harness) fold(list ...*eventspb.LeaseChange) []stream.Reject {
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

func (r *harness) foldValues(topic string, values ...[]byte) []stream.Reject {
	r.t.Helper()
	in := &stream.Batch{Topic: topic, Partition: r.partition, NowMs: r.nowMs}
	for _, v := range values {
		in.Records = append(in.Records, stream.Record{Value: v, Offset: r.offset, TimeMs: max(r.nowMs, r.readMs)})
		r.offset++
	}
	if err := r.b.Fold(in); err != nil {
		r.t.Fatal(err)
	}
	return in.Rejects
}

// commit calls OnTimer for the due timers and ends the transaction.
func (r *harness) commit() {
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

// pass advances the time and commits.
func (r *harness) pass(ms int64) {
	r.t.Helper()
	r.nowMs += ms
	r.commit()
}

// heartbeats folds a heartbeat of each region as seen by each region.
func (r *harness) heartbeats() {
	r.t.Helper()
	for _, at := range r.cfg.Regions {
		for _, from := range r.cfg.Regions {
			r.fold(&eventspb.LeaseChange{Region: at, AtMs: r.nowMs, Row: &eventspb.LeaseChange_Heartbeat{Heartbeat: &eventspb.LeaseHeartbeat{
				From: from, WrittenMs: r.nowMs - 100, SeenMs: r.nowMs,
			}}})
		}
	}
}

// change returns the change of a resource's row in the stream of its owner.
func (r *harness) change(pool string, m *eventspb.LeaseResource) *eventspb.LeaseChange {
	return &eventspb.LeaseChange{Region: m.Owner, Client: "c", Pool: pool, AtMs: r.nowMs, Row: &eventspb.LeaseChange_Resource{Resource: proto.CloneOf(m)}}
}

// isCommand reports whether an output is the commands of a region.
func isCommand(output string) bool {
	return strings.HasPrefix(output, events.LeaseCommandsTopic(""))
}

// commands returns the transfers, journal entries and headrooms since the last call.
func (r *harness) commands() (list []*eventspb.LeaseCommand, notes []*eventspb.LeaseJournalEntry, headroom []*eventspb.LeaseHeadroom) {
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

// rows returns the rows of all resources: those in the store, and the changed ones over them.
func (r *harness) rows() map[string]row {
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

// audit checks LEASE-36: each resource is in exactly one of free, leased and other, of one region;
// the counts of resources and of transfers are what a recount gives.
func (r *harness) audit() error {
	type counts struct{ free, leased, other, inTransit, outbound, excluded int64 }
	want, got := map[string]counts{}, map[string]counts{}
	add := func(m map[string]counts, key string, c counts) {
		x := m[key]
		x = counts{x.free + c.free, x.leased + c.leased, x.other + c.other, x.inTransit + c.inTransit, x.outbound + c.outbound, x.excluded + c.excluded}
		if m[key] = x; x == (counts{}) {
			delete(m, key)
		}
	}
	for key, row := range r.rows() {
		poolRegion := key[:strings.LastIndex(key, "\x00")+1] + row.owner
		switch {
		case row.gone:
		case row.free():
			add(want, poolRegion, counts{free: 1})
		case row.leased():
			add(want, poolRegion, counts{leased: 1})
		default:
			add(want, poolRegion, counts{other: 1})
		}
	}
	for _, p := range r.b.order {
		for _, f := range p.transfers {
			if f.failed {
				add(want, joinNames(p.key, r.cfg.Regions[f.from]), counts{excluded: 1})
				continue
			}
			add(want, joinNames(p.key, r.cfg.Regions[f.from]), counts{outbound: 1})
			add(want, joinNames(p.key, r.cfg.Regions[f.to]), counts{inTransit: 1})
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
	commanded, inTransit := r.openTransfers, int64(0)
	for _, n := range s.Moved {
		commanded += n
	}
	for _, p := range r.b.order {
		for i := range p.regions {
			inTransit += p.regions[i].inTransit
		}
	}
	if ended := s.Arrived + s.Overtaken + s.Refused + s.Expired; commanded != ended+inTransit {
		return fmt.Errorf("%d resources were commanded, %d transfers ended, %d are in transit: %+v", commanded, ended, inTransit, s)
	}
	if !maps.Equal(want, got) {
		return fmt.Errorf("the counts differ from a recount:\ngot  %v\nwant %v", got, want)
	}
	return r.auditFree()
}

// auditFree compares the table of available resources with the rows.
func (r *harness) auditFree() error {
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
			return fmt.Errorf("%q is in the table of available resources at version %d, want %d", k[1:], version, want[k[1:]])
		}
	}
	if n != len(want) {
		return fmt.Errorf("%d in the table of available resources, want %d", n, len(want))
	}
	return nil
}

// same compares the balancer, and the one of a standby, with one that begins from its state.
func (r *harness) same() error {
	old, openTransfers := r.b, r.openTransfers
	r.open()
	defer func() { r.b, r.openTransfers = old, openTransfers }()
	if a, b := decisionState(old), decisionState(r.b); a != b {
		return fmt.Errorf("a balancer that begins from the state differs:\nwant %s\ngot  %s", a, b)
	}
	if a, b := decisionState(r.standby), decisionState(r.b); a != b {
		return fmt.Errorf("the balancer of a standby differs from one that begins from the state:\nwant %s\ngot  %s", b, a)
	}
	return nil
}

// decisionState prints all that decisions depend on.
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
			fmt.Fprintf(&s, "\n  %d %d %v %v %d %d | %d %d %d | %x %x | %d %d %d %d | %v %d %v", x.free, x.freeBin, x.freeLater, x.leased, x.leases, x.other,
				x.inTransit, x.outbound, x.excluded, x.series.Encode(nil), x.profile.Encode(nil), x.refused, x.minute, x.refusedNow, x.refusedBefore, x.published.GetAsOfMs(), x.commandedMs, x.tableStale)
		}
	}
	return s.String()
}

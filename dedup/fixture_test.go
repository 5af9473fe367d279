package dedup

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/streamtest"
)

const skewMs = 500

// fixture is one key in three regions with its users, agents and executors, and a Dedup that sees
// the changes late, out of order and repeatedly. Replication between the regions takes any time,
// too.
type fixture struct {
	t        *testing.T
	rng      *rand.Rand
	r        *streamtest.Runner
	now      int64
	rows     map[string]*eventspb.LeaseKey
	streams  map[string][]*eventspb.LeaseChange // by region, changes that the Dedup has not seen
	seen     map[string]map[string]int64        // by region, the version of other regions' rows that its agents have seen
	all      map[string][]*eventspb.LeaseKey    // by region, every version
	log      []*eventspb.LeaseChange            // the Dedup's input
	commands []*eventspb.LeaseCommand           // waiting
	given    []*eventspb.LeaseCommand           // all commands
	known    int64                              // time from which the settings are known; 0 before
}

func newFixture(t *testing.T, seed uint64, build func(stream.Task) (stream.Handler, error)) *fixture {
	w := &fixture{
		t: t, rng: rand.New(rand.NewPCG(seed, 3)), now: 1_000_000, rows: map[string]*eventspb.LeaseKey{}, streams: map[string][]*eventspb.LeaseChange{},
		seen: map[string]map[string]int64{}, all: map[string][]*eventspb.LeaseKey{},
		r: streamtest.New(t, streamtest.Options{Partition: 3, Processor: stream.Processor{Inputs: []string{"lease.changes"}, New: build}}),
	}
	for _, r := range regions() {
		w.rows[r] = &eventspb.LeaseKey{Key: "k", Region: r}
		w.seen[r] = map[string]int64{}
	}
	return w
}

// live reports whether agents take a row for a current lease.
func (w *fixture) live(k *eventspb.LeaseKey) bool {
	return k.State == string(lease.Leased) && k.ExpiresMs > w.now+skewMs
}

func (w *fixture) over(k *eventspb.LeaseKey) bool { return k.ExpiresMs < w.now-skewMs }

// write writes a new version of a region's row.
func (w *fixture) write(region string, change func(k *eventspb.LeaseKey)) {
	k := proto.CloneOf(w.rows[region])
	k.Version++
	change(k)
	w.rows[region] = k
	w.all[region] = append(w.all[region], k)
	w.streams[region] = append(w.streams[region], &eventspb.LeaseChange{
		Region: region, Client: "c", Pool: "p", AtMs: w.now, Row: &eventspb.LeaseChange_Key{Key: k},
	})
}

// sees returns another region's row as the agents of a region see it.
func (w *fixture) sees(region, other string) *eventspb.LeaseKey {
	if region == other || len(w.all[other]) == 0 {
		return w.rows[other]
	}
	versions := w.all[other]
	w.seen[region][other] += w.rng.Int64N(int64(len(versions)) - w.seen[region][other] + 1)
	if n := w.seen[region][other]; n > 0 {
		return versions[n-1]
	}
	return &eventspb.LeaseKey{}
}

// use does one step of the users and agents of a region.
func (w *fixture) use(region string) {
	k := w.rows[region]
	state := lease.State(k.State)
	switch x := w.rng.IntN(10); {
	case state == lease.Superseded && !w.over(k):
		if winner := w.sees(region, k.Winner); winner.Version > 0 && !w.live(winner) {
			w.write(region, func(k *eventspb.LeaseKey) { k.State, k.Winner = string(lease.Leased), "" })
		}
	case state == lease.Pending && !w.over(k):
		w.write(region, func(k *eventspb.LeaseKey) { k.State = string(lease.Leased) })
	case state == lease.Leased && !w.over(k):
		if x < 3 {
			w.write(region, func(k *eventspb.LeaseKey) { k.State = string(lease.Released) })
		} else if x < 7 {
			w.write(region, func(k *eventspb.LeaseKey) { k.ExpiresMs = max(k.ExpiresMs, w.now+5000+w.rng.Int64N(100_000)) })
		}
	case x < 5:
		w.write(region, func(k *eventspb.LeaseKey) {
			k.State, k.Winner, k.Resource = string(lease.Leased), "", fmt.Sprint("r", k.Version)
			k.GrantedMs, k.ExpiresMs = w.now/4000*4000, max(k.ExpiresMs, w.now+5000+w.rng.Int64N(100_000))
			k.ResourceVersion = k.Version
			switch w.rng.IntN(8) {
			case 0:
				k.GrantedMs = 0
			case 1:
				k.State = string(lease.Pending)
			}
		})
	}
}

// execute carries out one of the waiting commands, as the executor does.
func (w *fixture) execute() {
	i := w.rng.IntN(len(w.commands))
	c := w.commands[i]
	if w.rng.IntN(4) > 0 { // otherwise it is delivered again
		w.commands = slices.Delete(w.commands, i, i+1)
	}
	if s := c.GetSupersede(); s != nil && w.rows[c.Region].Version == s.Version && w.rows[c.Region].Resource == s.Resource {
		w.write(c.Region, func(k *eventspb.LeaseKey) { k.State, k.Winner = string(lease.Superseded), s.Winner })
	}
}

// deliver appends a change to the input of the Dedup: the next of a region, or an old one.
func (w *fixture) deliver(region string) {
	var c *eventspb.LeaseChange
	if s := w.streams[region]; len(s) > 0 && w.rng.IntN(4) > 0 {
		c, w.streams[region] = s[0], s[1:]
	} else if len(w.log) > 0 {
		c = proto.CloneOf(w.log[w.rng.IntN(len(w.log))])
		c.Scanned = true
	}
	w.add(c)
}

func (w *fixture) add(c *eventspb.LeaseChange) {
	if c != nil {
		w.log = append(w.log, c)
		w.r.Append(marshal(w.t, c))
	}
}

// commit runs a transaction of the Dedup and checks its commands.
func (w *fixture) commit() error {
	w.r.Fold(w.rng.IntN(6))
	switch w.rng.IntN(10) {
	case 0:
		w.r.Crash()
		return nil
	case 1:
		w.r.Abort(w.now)
		return nil
	}
	w.r.Commit(w.now)
	var fresh []*eventspb.LeaseCommand
	for _, o := range w.r.TakeOutputs() {
		if commands(o) {
			fresh = append(fresh, unmarshal(w.t, o.Value, &eventspb.LeaseCommand{}))
		}
	}
	return w.check(fresh)
}

// check decides again in the simplest way, from all changes and all commands, and compares.
func (w *fixture) check(fresh []*eventspb.LeaseCommand) error {
	rows, known := map[string]*eventspb.LeaseKey{}, false
	for _, c := range w.log[:len(w.log)-w.r.Remaining()] {
		if k := c.GetKey(); k != nil && (rows[k.Region] == nil || k.Version > rows[k.Region].Version) {
			rows[k.Region] = k
		}
		known = known || c.GetSettings() != nil
	}
	if known && w.known == 0 {
		w.known = w.now
	}
	commandedAt := func(list []*eventspb.LeaseCommand, k *eventspb.LeaseKey, winner string) (at int64) {
		for _, c := range list {
			if s := c.GetSupersede(); c.Region == k.Region && s.Version == k.Version && (winner == "" || s.Winner == winner) {
				at = max(at, c.DecidedMs)
			}
		}
		return at
	}
	var can []*eventspb.LeaseKey
	for _, region := range regions() {
		if k := rows[region]; k != nil && w.live(k) && commandedAt(w.given, k, "") == 0 {
			can = append(can, k)
		}
	}
	slices.SortStableFunc(can, func(a, b *eventspb.LeaseKey) int {
		if (a.GrantedMs == 0) != (b.GrantedMs == 0) {
			return int(b.GrantedMs - a.GrantedMs)
		}
		return int(a.GrantedMs - b.GrantedMs)
	})
	w.given = append(w.given, fresh...)
	w.commands = append(w.commands, fresh...)
	if len(can) == 0 || !known {
		if len(fresh) > 0 {
			return fmt.Errorf("commands without a possible winner: %v", fresh)
		}
		return nil
	}
	winner := can[0].Region
	for _, c := range fresh {
		s, k := c.GetSupersede(), rows[c.Region]
		if s.Winner != winner || c.Region == winner || k == nil || s.Version != k.Version || k.ExpiresMs <= w.now+skewMs {
			return fmt.Errorf("command %v, winner %s, rows %v", c, winner, rows)
		}
	}
	if w.now < w.known+settingsRetry.Milliseconds() { // it polls for settings
		return nil
	}
	for _, k := range rows {
		lost := w.live(k) || k.State == string(lease.Superseded) && k.ExpiresMs > w.now+skewMs && k.Winner != winner
		if k.Region == winner || !lost || can[0].ExpiresMs <= w.now+skewMs+winnerGrace.Milliseconds() { // see testdata/soon.txt
			continue
		}
		tries := 0
		for _, c := range w.given {
			if s := c.GetSupersede(); c.Region == k.Region && s.Version == k.Version {
				tries++
			}
		}
		if at := commandedAt(w.given, k, winner); at == 0 || w.now-at >= min(int64(15_000)<<min(tries, 10), 600_000) {
			return fmt.Errorf("%v lost to %s, its last command was at %d, now is %d", k, winner, at, w.now)
		}
	}
	return nil
}

// circle returns an error if regions supersede each other: if following the winners leads back to
// the first region.
func (w *fixture) circle() error {
	for _, region := range regions() {
		at := region
		for range len(regions()) {
			k := w.rows[at]
			if k.State != string(lease.Superseded) || w.over(k) {
				break
			}
			if at = k.Winner; at == region {
				return fmt.Errorf("superseded in a circle: %v", w.rows)
			}
		}
	}
	return nil
}

// settle runs a minute without new leases: agents renew and reinstate, and all commands and changes
// are delivered.
func (w *fixture) settle() error {
	for range 60 {
		for _, region := range regions() {
			k := w.rows[region]
			w.seen[region] = map[string]int64{}
			for _, other := range regions() {
				w.seen[region][other] = int64(len(w.all[other]))
			}
			switch {
			case k.State == string(lease.Leased) && !w.over(k) || k.State == string(lease.Pending) && !w.over(k):
				w.write(region, func(k *eventspb.LeaseKey) {
					k.State, k.ExpiresMs = string(lease.Leased), max(k.ExpiresMs, w.now+2_000_000)
				})
			case k.State == string(lease.Superseded) && !w.over(k):
				w.use(region)
			}
			for _, c := range w.streams[region] {
				w.add(c)
			}
			w.streams[region] = nil
		}
		for w.r.Remaining() > 0 || w.rng.IntN(3) > 0 {
			if err := w.commit(); err != nil {
				return err
			}
		}
		for len(w.commands) > 0 {
			w.execute()
			if err := w.circle(); err != nil {
				return err
			}
		}
		w.now += 1000
	}
	leased := ""
	for _, region := range regions() {
		if k := w.rows[region]; w.live(k) {
			if leased != "" {
				return fmt.Errorf("after a minute without new leases %s and %s both lease the key: %v", leased, region, w.rows)
			}
			leased = region
		}
	}
	for _, k := range w.rows {
		if k.State == string(lease.Superseded) && !w.over(k) && (k.Winner != leased) {
			return fmt.Errorf("after a minute without new leases %v is superseded, and %q leases the key", k, leased)
		}
	}
	return nil
}

// live runs a random history. An error names the seed.
func live(t *testing.T, seed uint64, build func(stream.Task) (stream.Handler, error)) error {
	w := newFixture(t, seed, build)
	if w.rng.IntN(4) > 0 {
		w.add(settings(1, ""))
	}
	for step := range 250 {
		if step == 120 {
			w.add(settings(2, "supersede"))
		}
		region := regions()[w.rng.IntN(3)]
		var err error
		switch x := w.rng.IntN(12); {
		case x < 2:
			w.use(region)
		case x < 6:
			w.deliver(region)
		case x < 8 && len(w.commands) > 0:
			w.execute()
			err = w.circle()
		case x == 8 && len(w.commands) > 0 && w.rng.IntN(4) == 0: // a command is lost
			w.commands = w.commands[1:]
		case x == 9:
			w.now += w.rng.Int64N(4000)
			if w.rng.IntN(4) == 0 {
				w.now += 30_000
			}
		default:
			err = w.commit()
		}
		if err != nil {
			return fmt.Errorf("seed %d, step %d: %w", seed, step, err)
		}
	}
	if err := w.settle(); err != nil {
		return fmt.Errorf("seed %d, at the end: %w", seed, err)
	}
	for range 5 { // all leases end and are forgotten
		w.now += 3_600_000
		w.r.Commit(w.now)
	}
	if s := w.r.Handler().(interface{ Stats() Stats }).Stats(); len(w.r.Table(TableKeys))+len(w.r.Timers()) > 0 || s.Keys != 0 || s.OpenDuplicates != 0 {
		return fmt.Errorf("seed %d: at the end there are %d rows, %d timers, %+v", seed, len(w.r.Table(TableKeys)), len(w.r.Timers()), s)
	}
	return nil
}

func newDedup(t stream.Task) (stream.Handler, error) { return New(testConfig(), t) }

func TestRandomHistories(t *testing.T) {
	for seed := range uint64(600) {
		if err := live(t, seed, newDedup); err != nil {
			t.Fatal(err)
		}
	}
}

package liberator

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/streamtest"
)

// model is a simple liberator: at each commit it reads all changes again and evaluates each
// resource. It has no budget.
type model struct {
	cfg   Config
	input []*eventspb.LeaseChange
	given map[string]*attempts // by resource and version
}

// attempts are the commands for one version of a resource.
type attempts struct{ tries, nextMs int64 }

// commit returns the commands that are due at nowMs after the first n changes, and the leases.
func (d *model) commit(n int, nowMs int64) (want []string, leases map[string]*eventspb.LeaseResource) {
	rows := map[string]*eventspb.LeaseChange{}
	var pool *eventspb.LeasePool
	for _, c := range d.input[:n] {
		if s := c.GetSettings(); s != nil {
			if pool == nil || s.Version > pool.Version {
				pool = s
			}
			continue
		}
		r := c.GetResource()
		old := rows[r.Resource]
		if old == nil || r.Version > old.GetResource().Version || r.Version == old.GetResource().Version && c.Gone {
			rows[r.Resource] = c
		}
	}
	leases = map[string]*eventspb.LeaseResource{}
	for name, c := range rows {
		r := c.GetResource()
		if c.Gone || r.Holder == "" {
			continue
		}
		leases[name] = r
		id := fmt.Sprint(name, " ", r.Version)
		s := d.given[id]
		if s == nil {
			s = &attempts{nextMs: r.ExpiresMs + 2*d.cfg.Skew.Milliseconds() + 1}
			d.given[id] = s
		}
		switch {
		case nowMs < s.nextMs:
		case pool == nil:
			s.nextMs = nowMs + settingsRetry.Milliseconds()
		default:
			s.tries++
			s.nextMs = nowMs + min(int64(30_000)<<min(s.tries-1, 10), 600_000)
			want = append(want, fmt.Sprintf("%s %s %d available %d buckets %d #%d", r.Owner, id, r.ExpiresMs, r.ExpiresMs+pool.QuarantineMs, pool.Buckets, s.tries))
		}
	}
	slices.Sort(want)
	return want, leases
}

// history returns n changes of four resources, out of order, repeated and with gaps.
func history(rng *rand.Rand, n int) (list []*eventspb.LeaseChange) {
	rows := map[string][]*eventspb.LeaseChange{}
	for range n {
		name := fmt.Sprint("r", rng.IntN(4))
		old := rows[name]
		switch x := rng.IntN(20); {
		case x == 0:
			list = append(list, settings(1+rng.Int64N(8), 1000*rng.Int64N(100), 1+rng.Int32N(9)))
			continue
		case x < 6 && len(old) > 0: // repeated, or late
			c := old[rng.IntN(len(old))]
			if x == 5 && rng.IntN(4) == 0 {
				c = proto.CloneOf(c)
				c.Gone = true
				old = append(old, c)
				rows[name] = old
			}
			list = append(list, c)
			continue
		}
		version := int64(1 + len(old) + rng.IntN(2))
		if len(old) > 0 {
			version = old[len(old)-1].GetResource().Version + 1 + rng.Int64N(3)
		}
		c := free(name, version, 1000)
		if rng.IntN(3) > 0 {
			c = leased(name, version, 1000*(1+rng.Int64N(2000)))
			c.GetResource().Owner = regions()[rng.IntN(2)]
		}
		rows[name] = append(old, c)
		if rng.IntN(8) > 0 { // otherwise it is seen late or never
			list = append(list, c)
		}
	}
	return list
}

// compareHistory runs a random history through a handler that crashes at random points, and
// compares it with the model.
func compareHistory(t *testing.T, seed uint64, build func(stream.Task) (stream.Handler, error)) error {
	rng := rand.New(rand.NewPCG(seed, 7))
	cfg := testConfig()
	if err := cfg.setDefaults(); err != nil {
		t.Fatal(err)
	}
	d := &model{cfg: cfg, input: history(rng, 150), given: map[string]*attempts{}}
	// The budget does not bind here: see TestBudget.
	r := streamtest.New(t, streamtest.Options{Partition: 3, Processor: stream.Processor{Inputs: []string{events.LeaseChangesTopic}, New: build}})
	for _, c := range d.input {
		r.Append(marshal(t, c))
	}
	for now := int64(0); r.Remaining() > 0 || now < 4_000_000; now += 1 + rng.Int64N(60_000) {
		for range rng.IntN(3) {
			r.Fold(rng.IntN(6))
		}
		switch rng.IntN(12) {
		case 0:
			r.Crash()
		case 1:
			r.Abort(now)
		default:
			r.Commit(now)
			if err := d.compare(t, r, now); err != nil {
				return fmt.Errorf("seed %d, at %d: %w", seed, now, err)
			}
		}
	}
	return nil
}

func (d *model) compare(t *testing.T, r *streamtest.Runner, now int64) error {
	want, leases := d.commit(len(d.input)-r.Remaining(), now)
	var got []string
	for _, c := range commands(t, r) {
		l := c.GetLiberate()
		var try, version int64
		if _, err := fmt.Sscanf(c.Id, "liberate#c#p#"+l.Resource+"#%d#%d", &version, &try); err != nil || version != l.Version {
			return fmt.Errorf("id %q of %v", c.Id, l)
		}
		got = append(got, fmt.Sprintf("%s %s %d %d available %d buckets %d #%d", c.Region, l.Resource, l.Version, l.ExpiresMs, l.AvailableMs, l.Buckets, try))
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		return fmt.Errorf("commands\n%q, want\n%q", got, want)
	}
	timers := map[string]int64{}
	for _, x := range r.Timers() {
		name := string(x.Key)[len("c\x00p\x00"):]
		if timers[name] != 0 {
			return fmt.Errorf("two timers of %s", name)
		}
		timers[name] = x.AtMs
		s := d.given[fmt.Sprint(name, " ", leases[name].GetVersion())]
		if s == nil || x.AtMs > s.nextMs || x.AtMs <= now {
			return fmt.Errorf("the timer of %s is at %d, its next step is %v", name, x.AtMs, s)
		}
	}
	if len(timers) != len(leases) {
		return fmt.Errorf("timers of %v, leases of %v", slices.Sorted(maps.Keys(timers)), slices.Sorted(maps.Keys(leases)))
	}
	if n, ok := r.Handler().(*Liberator); ok && n.Stats().Leases != int64(len(leases)) {
		return fmt.Errorf("Stats has %d leases, want %d", n.Stats().Leases, len(leases))
	}
	return nil
}

func newUnlimited(t stream.Task) (stream.Handler, error) {
	cfg := testConfig()
	cfg.BucketRate = 1_000_000
	return New(cfg, t)
}

func TestRandomHistories(t *testing.T) {
	for seed := range uint64(300) {
		if err := compareHistory(t, seed, newUnlimited); err != nil {
			t.Fatal(err)
		}
	}
}

// mutant is a liberator with one bug.
type mutant struct {
	*Liberator
	stream.Timers
	bug  string
	last int64
}

func (f *mutant) Set(x stream.Timer) {
	if f.bug == "sets timers late" {
		x.AtMs += 40_000
	}
	f.Timers.Set(x)
}

func (f *mutant) Cancel(x stream.Timer) {
	if f.bug != "does not cancel" {
		f.Timers.Cancel(x)
	}
}

func (f *mutant) Fold(b *stream.Batch) error {
	for i := range b.Records {
		c := &eventspb.LeaseChange{}
		if err := proto.Unmarshal(b.Records[i].Value, c); err != nil {
			return err
		}
		switch r := c.GetResource(); {
		case r != nil && f.bug == "applies old versions":
			f.last++
			r.Version = 1000*r.Version + f.last
		case f.bug == "ignores deletions":
			c.Gone = false
		case r != nil && f.bug == "loses a release" && r.Holder == "" && r.Version%2 == 0:
			r.Version = 1
		}
		value, err := proto.Marshal(c)
		if err != nil {
			return err
		}
		b.Records[i].Value = value
	}
	return f.Liberator.Fold(b)
}

func (f *mutant) OnTimer(nowMs int64, due []stream.Timer) error {
	if f.bug == "fires late" {
		nowMs -= 3000
	}
	return f.Liberator.OnTimer(nowMs, due)
}

func (f *mutant) Flush(c stream.Commit, ch *stream.Changes) error {
	if f.bug == "loses a command" && len(f.out) > 1 {
		f.out = f.out[1:]
	}
	if err := f.Liberator.Flush(c, ch); err != nil {
		return err
	}
	if f.bug == "forgets rows" {
		ch.List = slices.DeleteFunc(ch.List, func(x stream.Change) bool { return x.Table == TableResources && len(x.Key)%2 == 0 })
	}
	return nil
}

// TestModelCatches: the comparison finds each of these bugs.
func TestModelCatches(t *testing.T) {
	for _, bug := range []string{"sets timers late", "does not cancel", "applies old versions", "ignores deletions", "loses a release", "fires late", "loses a command", "forgets rows"} {
		t.Run(bug, func(t *testing.T) {
			for seed := range uint64(50) {
				err := compareHistory(t, seed, func(task stream.Task) (stream.Handler, error) {
					f := &mutant{Timers: task.Timers, bug: bug}
					task.Timers = f
					core, err := newUnlimited(task)
					if err != nil {
						return nil, err
					}
					f.Liberator = core.(*Liberator)
					return f, nil
				})
				if err != nil {
					return
				}
			}
			t.Error("the bug was not found")
		})
	}
}

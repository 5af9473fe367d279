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

// dumb is a liberator that reads all changes again at each commit and looks at each resource. It has no budget.
type dumb struct {
	cfg   Config
	input []*eventspb.LeaseChange
	said  map[string]*saying // by resource and version
}

// saying is what was said for one version of a resource.
type saying struct{ tries, nextMs int64 }

// commit gives what is to be commanded at nowMs after the first n changes, and the leases there are.
func (d *dumb) commit(n int, nowMs int64) (want []string, leases map[string]*eventspb.LeaseResource) {
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
		s := d.said[id]
		if s == nil {
			s = &saying{nextMs: r.ExpiresMs + 2*d.cfg.Skew.Milliseconds() + 1}
			d.said[id] = s
		}
		switch {
		case nowMs < s.nextMs:
		case pool == nil:
			s.nextMs = nowMs + settingsRetry.Milliseconds()
		default:
			s.tries++
			s.nextMs = nowMs + min(int64(30_000)<<min(s.tries-1, 10), 600_000)
			want = append(want, fmt.Sprintf("%s %s %d available %d shelves %d #%d", r.Owner, id, r.ExpiresMs, r.ExpiresMs+pool.QuarantineMs, pool.Buckets, s.tries))
		}
	}
	slices.Sort(want)
	return want, leases
}

// history makes changes of few resources whose versions come out of order, again, and with gaps.
func history(rng *rand.Rand, n int) (list []*eventspb.LeaseChange) {
	rows := map[string][]*eventspb.LeaseChange{}
	for range n {
		name := fmt.Sprint("r", rng.IntN(4))
		old := rows[name]
		switch x := rng.IntN(20); {
		case x == 0:
			list = append(list, settings(1+rng.Int64N(8), 1000*rng.Int64N(100), 1+rng.Int32N(9)))
			continue
		case x < 6 && len(old) > 0: // again, or late
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
		if rng.IntN(8) > 0 { // some are seen late or never
			list = append(list, c)
		}
	}
	return list
}

// judge runs a history through a core that may crash at any point, beside the dumb one.
func judge(t *testing.T, seed uint64, spoil func(stream.Task) (streamtest.Core, error)) error {
	rng := rand.New(rand.NewPCG(seed, 7))
	cfg, err := testConfig().withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	d := &dumb{cfg: cfg, input: history(rng, 150), said: map[string]*saying{}}
	// These histories are not of the budget: see TestBudget.
	r := streamtest.New(t, streamtest.Options{Topic: events.LeaseChangesTopic, Partition: 3, Make: spoil})
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

func (d *dumb) compare(t *testing.T, r *streamtest.Runner, now int64) error {
	want, leases := d.commit(len(d.input)-r.Remaining(), now)
	var got []string
	for _, c := range commands(t, r) {
		l := c.GetLiberate()
		var try, version int64
		if _, err := fmt.Sscanf(c.Id, "liberate#c#p#"+l.Resource+"#%d#%d", &version, &try); err != nil || version != l.Version {
			return fmt.Errorf("id %q of %v", c.Id, l)
		}
		got = append(got, fmt.Sprintf("%s %s %d %d available %d shelves %d #%d", c.Region, l.Resource, l.Version, l.ExpiresMs, l.AvailableMs, l.Buckets, try))
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
		s := d.said[fmt.Sprint(name, " ", leases[name].GetVersion())]
		if s == nil || x.AtMs > s.nextMs || x.AtMs <= now {
			return fmt.Errorf("the timer of %s is at %d, and its next step at %v", name, x.AtMs, s)
		}
	}
	if len(timers) != len(leases) {
		return fmt.Errorf("timers of %v, leases of %v", slices.Sorted(maps.Keys(timers)), slices.Sorted(maps.Keys(leases)))
	}
	if n, ok := r.Core().(*Liberator); ok && n.Stats().Leases != int64(len(leases)) {
		return fmt.Errorf("it counts %d leases, there are %d", n.Stats().Leases, len(leases))
	}
	return nil
}

func sound(t stream.Task) (streamtest.Core, error) {
	cfg := testConfig()
	cfg.BucketRate = 1_000_000
	return New(cfg, t)
}

func TestRandomHistories(t *testing.T) {
	for seed := range uint64(300) {
		if err := judge(t, seed, sound); err != nil {
			t.Fatal(err)
		}
	}
}

// flawed does one thing wrong.
type flawed struct {
	*Liberator
	stream.Timers
	flaw string
	last int64
}

func (f *flawed) Set(x stream.Timer) {
	if f.flaw == "sets timers late" {
		x.AtMs += 40_000
	}
	f.Timers.Set(x)
}

func (f *flawed) Cancel(x stream.Timer) {
	if f.flaw != "does not cancel" {
		f.Timers.Cancel(x)
	}
}

func (f *flawed) Fold(b *stream.Batch) error {
	for i := range b.Records {
		c := &eventspb.LeaseChange{}
		if err := proto.Unmarshal(b.Records[i].Value, c); err != nil {
			return err
		}
		switch r := c.GetResource(); {
		case r != nil && f.flaw == "takes any version":
			f.last++
			r.Version = 1000*r.Version + f.last
		case f.flaw == "does not know what is gone":
			c.Gone = false
		case r != nil && f.flaw == "swallows a release" && r.Holder == "" && r.Version%2 == 0:
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

func (f *flawed) OnTimer(nowMs int64, due []stream.Timer) error {
	if f.flaw == "fires late" {
		nowMs -= 3000
	}
	return f.Liberator.OnTimer(nowMs, due)
}

func (f *flawed) Flush(c stream.Commit, ch *stream.Changes) error {
	if f.flaw == "loses a command" && len(f.out) > 1 {
		f.out = f.out[1:]
	}
	if err := f.Liberator.Flush(c, ch); err != nil {
		return err
	}
	if f.flaw == "forgets rows" {
		ch.List = slices.DeleteFunc(ch.List, func(x stream.Change) bool { return x.Table == TableResources && len(x.Key)%2 == 0 })
	}
	return nil
}

// TestModelCatches: a judge that lets these pass would prove nothing.
func TestModelCatches(t *testing.T) {
	for _, flaw := range []string{"sets timers late", "does not cancel", "takes any version", "does not know what is gone", "swallows a release", "fires late", "loses a command", "forgets rows"} {
		t.Run(flaw, func(t *testing.T) {
			for seed := range uint64(50) {
				err := judge(t, seed, func(task stream.Task) (streamtest.Core, error) {
					f := &flawed{Timers: task.Timers, flaw: flaw}
					task.Timers = f
					core, err := sound(task)
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
			t.Error("not caught")
		})
	}
}

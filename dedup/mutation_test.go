package dedup

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/stream"
)

// mutant is a Dedup with one bug.
type mutant struct {
	*Dedup
	stream.Timers
	task  stream.Task
	bug   string
	count int64
}

func newMutant(bug string) func(stream.Task) (stream.Handler, error) {
	return func(task stream.Task) (_ stream.Handler, err error) {
		f := &mutant{Timers: task.Timers, bug: bug, task: task}
		f.task.Timers = f
		f.Dedup, err = New(testConfig(), f.task)
		return f, err
	}
}

func (f *mutant) Set(x stream.Timer) {
	if f.bug == "sets timers late" && x.AtMs > immediateMs {
		x.AtMs += 700_000
	}
	f.Timers.Set(x)
}

func (f *mutant) Fold(b *stream.Batch) error {
	for i := range b.Records {
		c := &eventspb.LeaseChange{}
		if err := proto.Unmarshal(b.Records[i].Value, c); err != nil {
			return err
		}
		k := c.GetKey()
		switch {
		case k == nil:
		case f.bug == "the last granted wins" && k.GrantedMs > 0:
			k.GrantedMs = 1<<40 - k.GrantedMs
		case f.bug == "takes pending for leased" && k.State == string(lease.Pending):
			k.State = string(lease.Leased)
		case f.bug == "extends all leases":
			k.ExpiresMs += 1_000_000
		case f.bug == "ignores releases" && k.State == string(lease.Released):
			k.State = string(lease.Leased)
		case f.bug == "does not name a new winner" && k.State == string(lease.Superseded):
			k.State = string(lease.Released)
		}
		value, err := proto.Marshal(c)
		if err != nil {
			return err
		}
		b.Records[i].Value = value
	}
	return f.Dedup.Fold(b)
}

func (f *mutant) Flush(c stream.Commit, ch *stream.Changes) error {
	var mine stream.Changes
	if err := f.Dedup.Flush(c, &mine); err != nil {
		return err
	}
	for _, x := range mine.List {
		switch x.Op {
		case stream.OpPut:
			if x.Table == TableKeys {
				x.Value = f.mutate(x.Value)
			}
			ch.Put(x.Table, x.Key, x.Value)
		case stream.OpDelete:
			ch.Delete(x.Table, x.Key)
		default:
			if f.count++; f.bug != "loses outputs" || f.count%3 > 0 {
				ch.EmitTo(x.Output(), x.To.Partition, stream.Message{Key: x.Key, Value: x.Value})
			}
		}
	}
	return nil
}

func (f *mutant) mutate(value []byte) []byte {
	k, err := ParseKey(value)
	if err != nil {
		return nil
	}
	for i := range k.Rows {
		switch f.bug {
		case "lets a row with a command win":
			k.Rows[i].CommandedWinner = ""
		case "takes old versions":
			k.Rows[i].Version = 0
		case "forgets the superseded":
			if k.Rows[i].State == lease.Superseded {
				k.Rows[i].Version = 0
			}
		}
	}
	return k.append(nil)
}

// amnesiac is a mutant that forgets its memory in each Flush and continues from what it wrote.
type amnesiac struct{ *mutant }

func (f *amnesiac) Flush(c stream.Commit, ch *stream.Changes) error {
	err := f.mutant.Flush(c, ch)
	written := map[string][]byte{}
	for _, x := range ch.List {
		if x.Op == stream.OpPut || x.Op == stream.OpDelete {
			written[string(append([]byte{x.Table}, x.Key...))] = slices.Clone(x.Value)
		}
	}
	task := f.task
	task.Get = func(table byte, key []byte) ([]byte, error) {
		if v, ok := written[string(append([]byte{table}, key...))]; ok {
			return slices.Clone(v), nil
		}
		return f.task.Get(table, key)
	}
	if err == nil {
		f.Dedup, err = New(testConfig(), task)
	}
	return err
}

// TestRandomHistoriesCatch: the random histories find each of these bugs.
func TestRandomHistoriesCatch(t *testing.T) {
	for _, bug := range []string{
		"sets timers late", "the last granted wins", "takes pending for leased", "extends all leases", "ignores releases", "does not name a new winner",
		"loses outputs", "lets a row with a command win", "takes old versions", "forgets the superseded",
	} {
		t.Run(bug, func(t *testing.T) {
			for seed := range uint64(150) {
				err := live(t, seed, func(task stream.Task) (stream.Handler, error) {
					core, err := newMutant(bug)(task)
					if err != nil {
						return nil, err
					}
					return &amnesiac{core.(*mutant)}, nil
				})
				if err != nil {
					return
				}
			}
			t.Error("the bug was not found")
		})
	}
	t.Run("none", func(t *testing.T) {
		for seed := range uint64(50) {
			if err := live(t, seed, newMutant("")); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestCircles: the rule that a row with a command against it does not win keeps regions from
// superseding each other. Without the rule a circle occurs.
func TestCircles(t *testing.T) {
	for seed := range uint64(3000) {
		w := newFixture(t, seed, func(task stream.Task) (stream.Handler, error) {
			core, err := newMutant("lets a row with a command win")(task)
			if err != nil {
				return nil, err
			}
			return &amnesiac{core.(*mutant)}, nil
		})
		w.add(settings(1, ""))
		for range 250 {
			region := regions()[w.rng.IntN(3)]
			switch x := w.rng.IntN(12); {
			case x < 2:
				w.use(region)
			case x < 5:
				w.deliver(region)
			case x < 8 && len(w.commands) > 0:
				if w.execute(); w.circle() != nil {
					return
				}
			case x == 9:
				w.now += w.rng.Int64N(4000)
			default:
				_ = w.commit() // this test looks for circles only
			}
		}
	}
	t.Error("no history has a circle: the check for circles is not tested")
}

package dedup

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/streamtest"
)

// flawed does one thing wrong. It has no memory: after each Flush it begins from what it wrote.
type flawed struct {
	*Dedup
	stream.Timers
	task  stream.Task
	flaw  string
	count int64
}

func newFlawed(flaw string) func(stream.Task) (streamtest.Core, error) {
	return func(task stream.Task) (_ streamtest.Core, err error) {
		f := &flawed{Timers: task.Timers, flaw: flaw, task: task}
		f.task.Timers = f
		f.Dedup, err = New(testConfig(), f.task)
		return f, err
	}
}

func (f *flawed) Set(x stream.Timer) {
	if f.flaw == "never looks again" && x.AtMs > immediateMs {
		x.AtMs += 700_000
	}
	f.Timers.Set(x)
}

func (f *flawed) Fold(b *stream.Batch) error {
	for i := range b.Records {
		c := &eventspb.LeaseChange{}
		if err := proto.Unmarshal(b.Records[i].Value, c); err != nil {
			return err
		}
		k := c.GetKey()
		switch {
		case k == nil:
		case f.flaw == "the last granted wins" && k.GrantedMs > 0:
			k.GrantedMs = 1<<40 - k.GrantedMs
		case f.flaw == "takes pending for leased" && k.State == string(lease.Pending):
			k.State = string(lease.Leased)
		case f.flaw == "knows no end":
			k.ExpiresMs += 1_000_000
		case f.flaw == "does not see what is released" && k.State == string(lease.Released):
			k.State = string(lease.Leased)
		case f.flaw == "does not repoint" && k.State == string(lease.Superseded):
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

func (f *flawed) Flush(c stream.Commit, ch *stream.Changes) error {
	var mine stream.Changes
	if err := f.Dedup.Flush(c, &mine); err != nil {
		return err
	}
	for _, x := range mine.List {
		switch x.Op {
		case stream.OpPut:
			if x.Table == TableKeys {
				x.Value = f.spoil(x.Value)
			}
			ch.Put(x.Table, x.Key, x.Value)
		case stream.OpDelete:
			ch.Delete(x.Table, x.Key)
		default:
			if f.count++; f.flaw != "loses outputs" || f.count%3 > 0 {
				ch.EmitTo(x.Output(), x.To.Partition, stream.Message{Key: x.Key, Value: x.Value})
			}
		}
	}
	return nil
}

func (f *flawed) spoil(value []byte) []byte {
	k, err := ParseKey(value)
	if err != nil {
		return nil
	}
	for i := range k.Rows {
		switch f.flaw {
		case "lets the condemned win":
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

// forgetful is flawed without what it has in memory.
type forgetful struct{ *flawed }

func (f *forgetful) Flush(c stream.Commit, ch *stream.Changes) error {
	err := f.flawed.Flush(c, ch)
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

// TestRandomHistoriesCatch: a judge that lets these pass would prove nothing.
func TestRandomHistoriesCatch(t *testing.T) {
	for _, flaw := range []string{
		"never looks again", "the last granted wins", "takes pending for leased", "knows no end", "does not see what is released", "does not repoint",
		"loses outputs", "lets the condemned win", "takes old versions", "forgets the superseded",
	} {
		t.Run(flaw, func(t *testing.T) {
			for seed := range uint64(150) {
				err := live(t, seed, func(task stream.Task) (streamtest.Core, error) {
					core, err := newFlawed(flaw)(task)
					if err != nil {
						return nil, err
					}
					return &forgetful{core.(*flawed)}, nil
				})
				if err != nil {
					return
				}
			}
			t.Error("not caught")
		})
	}
	t.Run("none", func(t *testing.T) {
		for seed := range uint64(50) {
			if err := live(t, seed, newFlawed("")); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestCircles: the rule that a row against which a command is out does not win is what keeps regions from superseding each
// other. Without it, and without a judge of each decision, the circle is there.
func TestCircles(t *testing.T) {
	for seed := range uint64(3000) {
		w := newFixture(t, seed, func(task stream.Task) (streamtest.Core, error) {
			core, err := newFlawed("lets the condemned win")(task)
			if err != nil {
				return nil, err
			}
			return &forgetful{core.(*flawed)}, nil
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
					return // as it was to be
				}
			case x == 9:
				w.now += w.rng.Int64N(4000)
			default:
				_ = w.commit() // what is wrong with the decision is not asked here
			}
		}
	}
	t.Error("no circle in any world: the judge of circles proves nothing")
}

//go:build synctests

package offline

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/failpoint"
	"github.com/weirhq/weir/processors/internal/ledger"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// liveOffsets returns the ends of the live processor's topics and its group's offsets.
func (w *fixture) liveOffsets() map[string]int64 {
	w.t.Helper()
	cl := w.Client()
	adm, out := kadm.NewClient(cl), map[string]int64{}
	ends, err := adm.ListEndOffsets(context.Background(), "in", "log", "out", ledger.App+".dlq")
	if err != nil {
		w.t.Fatal(err)
	}
	ends.Each(func(o kadm.ListedOffset) { out[fmt.Sprint(o.Topic, o.Partition)] = o.Offset })
	got, err := adm.FetchOffsets(context.Background(), ledger.App)
	if err != nil {
		w.t.Fatal(err)
	}
	got.Each(func(o kadm.OffsetResponse) { out[fmt.Sprint("group ", o.Topic, o.Partition, o.Metadata)] = o.At })
	return out
}

// stepping calls step at the failpoints of offline work, and not at those of the runtime inside a
// replay.
func stepping(ctx context.Context, step func() error) context.Context {
	return failpoint.WithHook(ctx, func(at failpoint.Point) error {
		switch at {
		case failpoint.OfflineTopics, failpoint.OfflineProduced, failpoint.OfflineCommitted:
			return step()
		default:
			return nil
		}
	})
}

// replay describes a replay of proc on a disk.
func (w *fixture) replay(fs vfs.FS, proc stream.Processor, name string) *Replay {
	w.t.Helper()
	cfg := w.config(fs)
	cfg.Instance, cfg.Workers, cfg.PollRecords, cfg.CommitRecords = "s", 2, 11, 20
	s, err := NewReplay(cfg, proc, name)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// unequal returns the tables in which a replay differs from a savepoint, as partition/table.
func (w *fixture) unequal(s *Replay, sp *Savepoint) (out []string) {
	w.t.Helper()
	list, err := s.Compare(context.Background(), sp)
	if err != nil {
		w.t.Fatal(err)
	}
	if len(list) < len(sp.Partitions) {
		w.t.Errorf("%d comparisons of %d partitions", len(list), len(sp.Partitions))
	}
	for _, c := range list {
		if !c.Equal() {
			out = append(out, fmt.Sprint(c.Partition, "/", c.Table))
		}
	}
	return out
}

// timedProcessor is the ledger with timers of event time alone. Wall timers go by the time of day,
// which a replay does not repeat.
func timedProcessor() stream.Processor {
	p := ledger.Processor("in")
	p.Outputs = []stream.Output{{Name: "out", Topic: "out"}, {Name: "fired", Topic: "out"}}
	p.New = func(t stream.Task) (stream.Handler, error) {
		h, err := ledger.NewTimed(t)
		return eventOnly{h.(*ledger.TimedHandler)}, err
	}
	return p
}

type eventOnly struct{ *ledger.TimedHandler }

func (l eventOnly) Fold(b *stream.Batch) error {
	if err := l.Handler.Fold(b); err != nil {
		return err
	}
	for _, r := range b.Records {
		l.Task.Timers.Set(stream.Timer{Clock: stream.EventTime, AtMs: r.TimeMs + 300, Key: []byte(ledger.Origin(b.Topic, b.Partition, r.Offset))})
	}
	return nil
}

// TestReplayEqualsLive: from the beginning and from a savepoint, a replay up to offsets in the
// middle of the log has the state that the live processor had there. It continues when Run is
// called again, and changes nothing of the live processor.
func TestReplayEqualsLive(t *testing.T) {
	for name, proc := range map[string]stream.Processor{"sums": ledger.Processor("in"), "timers": timedProcessor()} {
		t.Run(name, func(t *testing.T) {
			runLedger(t, 3, func(t *testing.T, w *fixture) {
				fs, ctx := w.Disk("a"), context.Background()
				rest, flowing := w.grow(proc, 0, 600)
				if reflect.DeepEqual(rest.Positions(), flowing.Positions()) {
					t.Fatal("both savepoints have the same positions")
				}
				before := w.liveOffsets()
				for from, start := range map[string]ReplayStart{"beginning": {}, "savepoint": {Savepoint: "rest600"}} {
					s := w.replay(fs, proc, "again-"+from)
					for range 2 { // the second changes nothing
						if err := s.Prepare(ctx, start); err != nil {
							t.Fatal(err)
						}
					}
					if from == "beginning" {
						if err := s.Run(ctx, rest.Positions(), nil); err != nil {
							t.Fatal(err)
						}
						if diff := w.unequal(s, rest); diff != nil {
							t.Errorf("from the %s to the first savepoint: differs in %v", from, diff)
						}
					}
					var last ReplayProgress
					if err := s.Run(ctx, flowing.Positions(), func(p ReplayProgress) { last = p }); err != nil {
						t.Fatal(err)
					}
					w.checkGroup(s, flowing.Positions())
					if last.Offsets != last.Total || last.Total == 0 {
						t.Errorf("progress ends at %+v", last)
					}
					if diff := w.unequal(s, flowing); diff != nil {
						t.Errorf("from the %s: differs in %v", from, diff)
					}
					if _, err := s.Compare(ctx, rest); !errors.Is(err, ErrReplay) {
						t.Errorf("compared with other offsets: %v", err)
					}
					if err := s.Run(ctx, rest.Positions(), nil); !errors.Is(err, ErrReplay) {
						t.Errorf("back to the first savepoint: %v", err)
					}
				}
				if now := w.liveOffsets(); !maps.Equal(before, now) {
					t.Errorf("the live processor's topics and offsets were %v, are %v", before, now)
				}
				w.dropAll(fs, proc)
				if now := w.liveOffsets(); !maps.Equal(before, now) {
					t.Errorf("after Drop, the live processor's topics and offsets were %v, are %v", before, now)
				}
			})
		})
	}
}

// dropAll drops the replays, and checks that nothing is left of them.
func (w *fixture) dropAll(fs vfs.FS, proc stream.Processor) {
	w.t.Helper()
	for _, name := range []string{"again-beginning", "again-savepoint"} {
		for _, want := range []bool{true, false} {
			r := w.replay(fs, proc, name)
			names, err := r.Names()
			if err != nil || slices.Contains(names, name) != want {
				w.t.Fatalf("the replays are %v, %v; %s is one: %t", names, err, name, want)
			}
			if there, err := r.Drop(context.Background()); there != want || err != nil {
				w.t.Fatalf("Drop of %s: %t, %v; want %t", name, there, err, want)
			}
		}
	}
	cl := w.Client()
	topics, err := kadm.NewClient(cl).ListTopics(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	groups, err := kadm.NewClient(cl).ListGroups(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, name := range append(topics.Names(), groups.Groups()...) {
		if strings.HasPrefix(name, "again") {
			w.t.Errorf("%s is left", name)
		}
	}
	list, err := fs.List(processorstest.StateDir)
	if err != nil || len(list) != 1 {
		w.t.Errorf("directories: %v, %v", list, err)
	}
}

// TestReplayEndsEachPartition: partitions of one worker end at different offsets. A partition at
// its end is paused while the others continue: none of its records is folded, the session stays,
// and the group's offset stays at the end.
func TestReplayEndsEachPartition(t *testing.T) {
	runLedger(t, 3, func(t *testing.T, w *fixture) {
		fs, ctx, proc := w.Disk("a"), context.Background(), ledger.Processor("in")
		w.fill(3, 3000)
		s := w.replay(fs, proc, "again")
		s.cfg.Workers = 1
		var log bytes.Buffer
		logger := zerolog.New(zerolog.SyncWriter(&log))
		s.cfg.Log = &logger
		if err := s.Prepare(ctx, ReplayStart{}); err != nil {
			t.Fatal(err)
		}
		for _, until := range []Positions{{"in": {0: 3, 1: 900, 2: 0}}, {"in": {0: 500, 1: 901, 2: 1}}} {
			if err := s.Run(ctx, until, nil); err != nil {
				t.Fatal(err)
			}
			for p, end := range until["in"] {
				if end > 0 {
					w.checkGroup(s, Positions{"in": {p: end}})
				}
			}
		}
		for _, event := range []string{"session_rebuilt", "transaction_abandoned", "fetch_failed"} {
			if n := strings.Count(log.String(), event); n > 0 {
				t.Errorf("%s: %d times\n%s", event, n, log.String())
			}
		}
	})
}

// TestReplayRefuses names and beginnings that would touch topics of other processors or give a
// wrong state.
func TestReplayRefuses(t *testing.T) {
	runLedger(t, 1, func(t *testing.T, w *fixture) {
		fs, ctx, proc := w.Disk("a"), context.Background(), ledger.Processor("in")
		cfg := processors.Config{Kafka: w.Kafka(), Dir: processorstest.StateDir, FS: fs, Log: &w.log}
		odd := proc
		odd.Outputs = stream.OutputTopics("x.log")
		if _, err := NewReplay(cfg, proc, ledger.App); !errors.Is(err, ErrReplay) {
			t.Errorf("under the live name: %v", err)
		}
		if _, err := NewReplay(cfg, odd, "x"); !errors.Is(err, ErrReplay) {
			t.Errorf("with a changelog that is a live output: %v", err)
		}
		w.foldThree()
		all := w.savepoints(fs, proc)
		sp, err := all.Create(ctx, "three")
		if err != nil {
			t.Fatal(err)
		}
		s := w.replay(fs, proc, "again")
		if err := s.Run(ctx, sp.Positions(), nil); !errors.Is(err, ErrReplay) {
			t.Errorf("Run before Prepare: %v", err)
		}
		if err := s.Prepare(ctx, ReplayStart{Savepoint: "none"}); !errors.Is(err, ErrSavepoint) {
			t.Errorf("from a savepoint that does not exist: %v", err)
		}
		cl := w.Client()
		adm := kadm.NewClient(cl)
		if _, err := adm.CreateTopics(ctx, 1, 1, nil, "again.out"); err != nil {
			t.Fatal(err)
		}
		if err := s.Prepare(ctx, ReplayStart{}); !errors.Is(err, ErrReplay) {
			t.Errorf("with a topic that exists already: %v", err)
		}
		if _, err := adm.DeleteTopics(ctx, "again.out"); err != nil {
			t.Fatal(err)
		}
		if _, err := adm.DeleteRecords(ctx, kadm.Offsets{"in": {0: {Topic: "in", At: 2}}}); err != nil {
			t.Fatal(err)
		}
		if err := s.Prepare(ctx, ReplayStart{}); !errors.Is(err, ErrTrimmed) {
			t.Errorf("from a beginning that retention has deleted: %v", err)
		}
		if err := s.Prepare(ctx, ReplayStart{AllowTrimmed: true}); err != nil {
			t.Fatal(err)
		}
		if err := s.Prepare(ctx, ReplayStart{Savepoint: "three"}); !errors.Is(err, ErrReplay) {
			t.Errorf("from another beginning under the same name: %v", err)
		}
		if err := s.Run(ctx, sp.Positions(), nil); err != nil {
			t.Fatal(err)
		}
		if diff := w.unequal(s, sp); len(diff) != 1 {
			t.Errorf("without the first records: differs in %v", diff)
		}
		if err := s.Run(ctx, Positions{"in": {0: 99}}, nil); err == nil {
			t.Error("a replay to an offset beyond the end of the input succeeded")
		}
	})
}

// TestReplayOfMissingTopics: a live topic that does not exist is named, and nothing is created.
func TestReplayOfMissingTopics(t *testing.T) {
	runLedger(t, 1, func(t *testing.T, w *fixture) {
		ctx, proc := context.Background(), ledger.Processor("in")
		s := w.replay(w.Disk("a"), proc, "again")
		adm := kadm.NewClient(w.Client())
		if _, err := adm.DeleteTopics(ctx, "in", "out"); err != nil {
			t.Fatal(err)
		}
		err := s.Prepare(ctx, ReplayStart{})
		if !errors.Is(err, processors.ErrTopics) || err == nil || !strings.Contains(err.Error(), "topics of "+ledger.App+" do not exist: in, out. ") || strings.Contains(err.Error(), "UNKNOWN") {
			t.Error(err)
		}
		if list, err := adm.ListTopics(ctx); err != nil || list.Has("again.changelog") {
			t.Errorf("topics %v, %v", list.Names(), err)
		}
	})
}

// TestReplayFromOffsetAndTime: a replay from an offset or a time folds the records from there on
// alone.
func TestReplayFromOffsetAndTime(t *testing.T) {
	runLedger(t, 1, func(t *testing.T, w *fixture) {
		fs, ctx, proc := w.Disk("a"), context.Background(), ledger.Processor("in")
		w.foldThree()
		time.Sleep(time.Minute)
		then := time.Now()
		time.Sleep(time.Minute)
		w.Produce("in", 0, "k", "10", "20")
		for from, c := range map[string]struct {
			start ReplayStart
			sum   int64
		}{"offset": {ReplayStart{Offset: 2}, 33}, "time": {ReplayStart{Time: then}, 30}, "past": {ReplayStart{Offset: 1000}, 0}} {
			s := w.replay(fs, proc, "from-"+from)
			if err := s.Prepare(ctx, c.start); err != nil {
				t.Fatal(err)
			}
			if err := s.Run(ctx, Positions{"in": {0: 5}}, nil); err != nil {
				t.Fatal(err)
			}
			db, err := store.OpenOffline(databaseOf(&s.cfg), s.proc.App, processorstest.StateDir+"/from-"+from+"/db")
			if err != nil {
				t.Fatal(err)
			}
			v, err := store.Get(db.DB, store.Key(0, 1, []byte("k")))
			if err != nil {
				t.Fatal(err)
			}
			if sum := append(make([]byte, 8), v...); int64(binary.BigEndian.Uint64(sum[len(sum)-8:])) != c.sum {
				t.Errorf("from %s: %x, want %d", from, v, c.sum)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// wrongSums counts every record of key k3 twice, and adds a key "ghost" of no record.
type wrongSums struct{ *ledger.Handler }

func newWrongSums(t stream.Task) (stream.Handler, error) {
	h, err := ledger.New(t)
	return wrongSums{h.(*ledger.Handler)}, err
}

func (l wrongSums) Fold(b *stream.Batch) error {
	if err := l.Handler.Fold(b); err != nil {
		return err
	}
	for _, r := range b.Records {
		if string(r.Key) == "k3" {
			if err := l.Load("ghost"); err != nil {
				return err
			}
			l.Sums["k3"]++
			l.Sums["ghost"]++
			l.Changed["ghost"] = true
		}
	}
	return nil
}

// logTotals folds the live changelog as a reader of it does.
func (w *fixture) logTotals() map[string]int64 {
	sums := map[string]string{}
	for _, r := range w.Records("log") {
		if r.Key[0] != 1 {
			continue
		}
		if key := fmt.Sprint(r.Partition, string(r.Key)); r.Value == nil {
			delete(sums, key)
		} else {
			sums[key] = string(r.Value)
		}
	}
	out := map[string]int64{}
	for k, v := range sums {
		n, _ := ledger.Decode(v)
		out[k[2:]] += n
	}
	return out
}

// TestPromote: a handler computes wrong sums, and a replay with the corrected handler is promoted.
// The live processor continues with the corrected sums. The promotion is killed at each of its
// steps in turn, and nothing is counted twice.
func TestPromote(t *testing.T) {
	runLedger(t, 3, func(t *testing.T, w *fixture) {
		fs, ctx := w.Disk("a"), context.Background()
		bad, good := ledger.Processor("in"), ledger.Processor("in")
		bad.New = newWrongSums
		w.grow(bad, 0, 600)
		if got := w.logTotals(); got["k3"] != 180 || got["ghost"] != 90 || got["k4"] != 90 {
			t.Fatalf("the sums of the wrong handler are %v", got)
		}
		const replay = "fixed"
		if err := w.replay(fs, good, replay).Prepare(ctx, ReplayStart{}); err != nil {
			t.Fatal(err)
		}
		dry, err := w.replay(fs, good, replay).Promote(ctx, Promotion{})
		if err != nil {
			t.Fatal(err)
		}
		var put, deleted int64
		for _, c := range dry {
			put, deleted = put+c.Put, deleted+c.Deleted
		}
		if put != 3 || deleted != 3 {
			t.Errorf("the dry run reports %d put, %d deleted: %+v", put, deleted, dry)
		}
		if got := w.logTotals(); got["k3"] != 180 {
			t.Errorf("after the dry run: %v", got)
		}
		killed, errKilled := 0, errors.New("killed")
		for at := 1; ; at++ { // at its first step, then at its second, ...
			n := 0
			hooked := stepping(ctx, func() error {
				if n++; n == at {
					return errKilled
				}
				return nil
			})
			_, err := w.replay(fs, good, replay).Promote(hooked, Promotion{Commit: true})
			if err == nil {
				break
			}
			if killed++; !errors.Is(err, errKilled) || killed > 20 {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second) // until the session of the killed member expires
		}
		if killed < 4 {
			t.Errorf("killed at %d steps only", killed)
		}
		want := map[string]int64{}
		for i := range 10 {
			want[fmt.Sprint("k", i)] = 90
		}
		if got := w.logTotals(); !maps.Equal(got, want) {
			t.Errorf("readers of the changelog see %v", got)
		}
		before := w.liveOffsets()
		again, err := w.replay(fs, good, replay).Promote(ctx, Promotion{Commit: true})
		if err != nil || len(again) != 0 {
			t.Errorf("a second promotion changes %+v, %v", again, err)
		}
		for what, end := range w.liveOffsets() { // a promotion of nothing writes a barrier, and the transaction its control record
			if strings.HasPrefix(what, "log") {
				end -= 2
			}
			if before[what] != end {
				t.Errorf("a second promotion moved %s from %d to %d", what, before[what], end)
			}
		}
		w.checkSequences()
		var mu sync.Mutex
		lost := map[int32]bool{} // whether the first takeover of a partition had no local tables
		good.New = func(t stream.Task) (stream.Handler, error) {
			mu.Lock()
			defer mu.Unlock()
			if _, ok := lost[t.Partition]; !ok {
				lost[t.Partition] = t.LocalNext == nil
			}
			return ledger.New(t)
		}
		for i, name := range []string{"a", "b", "a"} { // with the old store, with a store rebuilt from the changelog, and again
			p := w.StartWith(name, processors.Config{Workers: 2}, good)
			w.fill(3, 30)
			for k := range want {
				want[k] += 3
			}
			var n int64
			for p := range int32(3) {
				n += w.endOf("in", p)
			}
			w.WaitFor("the processor continues", time.Minute, folded(p, n))
			got := map[string]int64{}
			for k := range want {
				for partition := range int32(3) {
					got[k] += w.sum(p, partition, k)
				}
			}
			if ghost := w.sum(p, 0, "ghost"); !maps.Equal(got, want) || ghost != 0 {
				t.Errorf("the live sums are %v and %d for the ghost, want %v", got, ghost, want)
			}
			p.Stop()
			if none := i < 2; !maps.Equal(lost, map[int32]bool{0: none, 1: none, 2: none}) {
				t.Errorf("start %d: partitions without local tables: %v, want all %t, because they do not fit a promoted state", i, lost, none)
			}
			clear(lost)
		}
		w.checkSequences()
	})
}

// checkSequences checks that the transactions of each partition are numbered without a gap.
func (w *fixture) checkSequences() {
	w.t.Helper()
	last := map[int32]*changelogpb.Marker{}
	for _, r := range w.Records("log") {
		if !changelogpb.IsSystem(r.Key) || string(r.Key[1:]) != changelogpb.MarkerKey {
			continue
		}
		m, err := changelogpb.Decode(r.Value, &changelogpb.Marker{}, "marker")
		if err != nil {
			w.t.Fatal(err)
		}
		if was := last[r.Partition]; m.Sequence != was.GetSequence()+1 || m.OwnerEpoch < was.GetOwnerEpoch() || m.WatermarkMs < was.GetWatermarkMs() {
			w.t.Errorf("partition %d: %v follows %v", r.Partition, m, was)
		}
		last[r.Partition] = m
	}
	if len(last) != 3 {
		w.t.Errorf("markers in %d partitions", len(last))
	}
}

// checkGroup checks that the offsets of the replay's group are the end of the replay.
func (w *fixture) checkGroup(s *Replay, until Positions) {
	w.t.Helper()
	cl := w.Client()
	got, err := kadm.NewClient(cl).FetchOffsets(context.Background(), s.proc.App)
	if err != nil {
		w.t.Fatal(err)
	}
	for topic, list := range until {
		for p, end := range list {
			if o, ok := got.Lookup(topic, p); !ok || o.At != end {
				w.t.Errorf("group %s is at %d of %s[%d], want %d", s.proc.App, o.At, topic, p, end)
			}
		}
	}
}

// endOf returns the end offset of a partition.
func (w *fixture) endOf(topic string, p int32) int64 {
	cl := w.Client()
	ends, err := kadm.NewClient(cl).ListEndOffsets(context.Background(), topic)
	if err != nil {
		w.t.Fatal(err)
	}
	o, _ := ends.Lookup(topic, p)
	return o.Offset
}

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
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir/processors/internal/failpoint"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/changelog"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/stream"
)

// alive is all that others could notice of the live processor in Kafka: the ends of its topics and its group's offsets.
func (w *cluster) alive() map[string]int64 {
	w.t.Helper()
	cl := w.client()
	defer cl.Close()
	adm, out := kadm.NewClient(cl), map[string]int64{}
	ends, err := adm.ListEndOffsets(context.Background(), "in", "log", "out", appID+".dlq")
	if err != nil {
		w.t.Fatal(err)
	}
	ends.Each(func(o kadm.ListedOffset) { out[fmt.Sprint(o.Topic, o.Partition)] = o.Offset })
	got, err := adm.FetchOffsets(context.Background(), appID)
	if err != nil {
		w.t.Fatal(err)
	}
	got.Each(func(o kadm.OffsetResponse) { out[fmt.Sprint("group ", o.Topic, o.Partition, o.Metadata)] = o.At })
	return out
}

// stepping makes step a hook at the edges of offline work, and not at those of the runtime that is a part of it.
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

func (w *cluster) shadow(fs vfs.FS, proc stream.Processor, name string) *Replay {
	w.t.Helper()
	s, err := NewReplay(processors.Config{Kafka: w.kafka(), Dir: "/state", FS: fs, Instance: "s", Log: &w.log, CacheBytes: 1 << 20, Workers: 2, PollRecords: 11, CommitRecords: 20}, proc, name)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// unequal are the tables in which a replay differs from a savepoint, as partition/table.
func (w *cluster) unequal(s *Replay, sp *Savepoint) (out []string) {
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

// grow runs the core until it has folded n records more, takes a savepoint when it is at rest, and another somewhere later,
// while records flow.
func (w *cluster) grow(fs vfs.FS, proc stream.Processor, from, n int64) (rest, flowing *Savepoint) {
	w.t.Helper()
	rt, end := w.begin("a", processors.Config{Workers: 2, FS: fs, PollRecords: 13}, proc)
	w.fill(3, int(n))
	w.until("it is folded", time.Minute, w.folded(rt, from+n))
	var err error
	if rest, err = TakeSavepoint(context.Background(), rt, fmt.Sprint("rest", from+n)); err != nil {
		w.t.Fatal(err)
	}
	flowed := make(chan struct{})
	go func() {
		defer close(flowed)
		for range 10 {
			w.fill(3, 30)
			time.Sleep(60 * time.Millisecond)
		}
	}()
	time.Sleep(350 * time.Millisecond)
	if flowing, err = TakeSavepoint(context.Background(), rt, fmt.Sprint("flowing", from+n)); err != nil {
		w.t.Fatal(err)
	}
	<-flowed
	w.until("all is folded", time.Minute, w.folded(rt, from+n+300))
	if err := end(); err != nil {
		w.t.Fatal(err)
	}
	return rest, flowing
}

// timed is a account with timers in event time.
func timedAccounts() stream.Processor {
	p := accounts("in")
	p.Outputs = []stream.Output{{Name: "out", Topic: "out"}, {Name: "fired", Topic: "out"}}
	p.New = func(t stream.Task) (stream.Handler, error) {
		h, err := newTimedAccount(t)
		return eventOnly{h.(*timedAccount)}, err
	}
	return p
}

// eventOnly sets timers of event time only: the others go by the time of day, which a replay does not repeat.
type eventOnly struct{ *timedAccount }

func (l eventOnly) Fold(b *stream.Batch) error {
	if err := l.account.Fold(b); err != nil {
		return err
	}
	for _, r := range b.Records {
		l.timers.Set(stream.Timer{Clock: stream.EventTime, AtMs: r.TimeMs + 300, Key: fmt.Appendf(nil, "%s/%d/%d", b.Topic, b.Partition, r.Offset)})
	}
	return nil
}

// TestReplayEqualsLive: from the beginning and from a savepoint, up to offsets in the middle of the log, a replay holds what
// the live processor held there; it goes on when asked; and nothing of the live one changes.
func TestReplayEqualsLive(t *testing.T) {
	for name, proc := range map[string]stream.Processor{"sums": accounts("in"), "timers": timedAccounts()} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, w *cluster) {
				fs, ctx := vfs.NewCrashableMem(), context.Background()
				rest, flowing := w.grow(fs, proc, 0, 600)
				if reflect.DeepEqual(rest.Positions(), flowing.Positions()) {
					t.Fatal("both savepoints are of one moment")
				}
				before := w.alive()
				for from, start := range map[string]Start{"beginning": {}, "savepoint": {Savepoint: "rest600"}} {
					s := w.shadow(fs, proc, "again-"+from)
					for range 2 { // the second finds it done
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
					var last Progress
					if err := s.Run(ctx, flowing.Positions(), func(p Progress) { last = p }); err != nil {
						t.Fatal(err)
					}
					w.inside(s, flowing.Positions())
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
				if now := w.alive(); !maps.Equal(before, now) {
					t.Errorf("the live processor's topics and offsets were %v, are %v", before, now)
				}
				w.dropAll(fs, proc)
				if now := w.alive(); !maps.Equal(before, now) {
					t.Errorf("after the drop: live was %v, is %v", before, now)
				}
			})
		})
	}
}

// dropAll drops the replays, and looks that nothing is left of them.
func (w *cluster) dropAll(fs vfs.FS, proc stream.Processor) {
	w.t.Helper()
	for _, name := range []string{"again-beginning", "again-savepoint"} {
		for range 2 {
			if err := w.shadow(fs, proc, name).Drop(context.Background()); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	cl := w.client()
	defer cl.Close()
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
	list, err := fs.List("/state")
	if err != nil || len(list) != 1 {
		w.t.Errorf("directories: %v, %v", list, err)
	}
}

// TestReplayEndsEachPartition: partitions of one worker end at very different offsets. Those that are at their end rest, while
// the others go on: nothing of them is read, no session is lost over them, and the group stays where they are.
func TestReplayEndsEachPartition(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, w *cluster) {
		fs, ctx, proc := vfs.NewCrashableMem(), context.Background(), accounts("in")
		w.fill(3, 3000)
		s := w.shadow(fs, proc, "again")
		s.cfg.Workers = 1
		var log bytes.Buffer
		logger := zerolog.New(zerolog.SyncWriter(&log))
		s.cfg.Log = &logger
		if err := s.Prepare(ctx, Start{}); err != nil {
			t.Fatal(err)
		}
		for _, until := range []processors.Positions{{"in": {0: 3, 1: 900, 2: 0}}, {"in": {0: 500, 1: 901, 2: 1}}} {
			if err := s.Run(ctx, until, nil); err != nil {
				t.Fatal(err)
			}
			for p, end := range until["in"] {
				if end > 0 {
					w.inside(s, processors.Positions{"in": {p: end}})
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

// TestReplayRefuses what would touch others or could not be right.
func TestReplayRefuses(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, w *cluster) {
		fs, ctx, proc := vfs.NewCrashableMem(), context.Background(), accounts("in")
		cfg := processors.Config{Kafka: w.kafka(), Dir: "/state", FS: fs, Log: &w.log}
		odd := proc
		odd.Outputs = stream.OutputTopics("x.log")
		if _, err := NewReplay(cfg, proc, appID); !errors.Is(err, ErrReplay) {
			t.Errorf("under the live name: %v", err)
		}
		if _, err := NewReplay(cfg, odd, "x"); !errors.Is(err, ErrReplay) {
			t.Errorf("whose changelog is a live output: %v", err)
		}
		w.foldThree(fs)
		all := w.savepoints(fs, proc)
		sp, err := all.Create(ctx, "three")
		if err != nil {
			t.Fatal(err)
		}
		s := w.shadow(fs, proc, "again")
		if err := s.Run(ctx, sp.Positions(), nil); !errors.Is(err, ErrReplay) {
			t.Errorf("run before it was prepared: %v", err)
		}
		if err := s.Prepare(ctx, Start{Savepoint: "none"}); !errors.Is(err, ErrSavepoint) {
			t.Errorf("from a savepoint that is not there: %v", err)
		}
		cl := w.client()
		defer cl.Close()
		adm := kadm.NewClient(cl)
		if _, err := adm.CreateTopics(ctx, 1, 1, nil, "again.out"); err != nil {
			t.Fatal(err)
		}
		if err := s.Prepare(ctx, Start{}); !errors.Is(err, ErrReplay) {
			t.Errorf("over a topic of somebody's: %v", err)
		}
		if _, err := adm.DeleteTopics(ctx, "again.out"); err != nil {
			t.Fatal(err)
		}
		if _, err := adm.DeleteRecords(ctx, kadm.Offsets{"in": {0: {Topic: "in", At: 2}}}); err != nil {
			t.Fatal(err)
		}
		if err := s.Prepare(ctx, Start{}); !errors.Is(err, ErrTrimmed) {
			t.Errorf("from a beginning that is gone: %v", err)
		}
		if err := s.Prepare(ctx, Start{AllowTrimmed: true}); err != nil {
			t.Fatal(err)
		}
		if err := s.Prepare(ctx, Start{Savepoint: "three"}); !errors.Is(err, ErrReplay) {
			t.Errorf("from elsewhere under the same name: %v", err)
		}
		if err := s.Run(ctx, sp.Positions(), nil); err != nil {
			t.Fatal(err)
		}
		if diff := w.unequal(s, sp); len(diff) != 1 {
			t.Errorf("without the first records: differs in %v", diff)
		}
		if err := s.Run(ctx, processors.Positions{"in": {0: 99}}, nil); err == nil {
			t.Error("a replay to an offset that is not there ended")
		}
	})
}

// TestReplayFromOffsetAndTime folds the records from there on, and no other.
func TestReplayFromOffsetAndTime(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, w *cluster) {
		fs, ctx, proc := vfs.NewCrashableMem(), context.Background(), accounts("in")
		w.foldThree(fs)
		time.Sleep(time.Minute)
		then := time.Now()
		time.Sleep(time.Minute)
		w.put("in", 0, "10", "20")
		for from, c := range map[string]struct {
			start Start
			sum   int64
		}{"offset": {Start{Offset: 2}, 33}, "time": {Start{Time: then}, 30}, "past": {Start{Offset: 1000}, 0}} {
			s := w.shadow(fs, proc, "from-"+from)
			if err := s.Prepare(ctx, c.start); err != nil {
				t.Fatal(err)
			}
			if err := s.Run(ctx, processors.Positions{"in": {0: 5}}, nil); err != nil {
				t.Fatal(err)
			}
			pic, err := store.OpenOffline(databaseOf(&s.cfg), s.proc.App, "/state/from-"+from+"/db")
			if err != nil {
				t.Fatal(err)
			}
			v, err := store.Get(pic.DB, store.Key(0, 1, []byte("k")))
			if err != nil {
				t.Fatal(err)
			}
			if sum := append(make([]byte, 8), v...); int64(binary.BigEndian.Uint64(sum[len(sum)-8:])) != c.sum {
				t.Errorf("from %s: %x, want %d", from, v, c.sum)
			}
			if err := pic.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// wrong counts every record of key k3 twice, and remembers a key that nobody sent.
type wrong struct{ *account }

func newWrong(t stream.Task) (stream.Handler, error) {
	h, err := newAccount(t)
	return wrong{h.(*account)}, err
}

func (l wrong) Fold(b *stream.Batch) error {
	if err := l.account.Fold(b); err != nil {
		return err
	}
	for _, r := range b.Records {
		if string(r.Key) == "k3" {
			if _, known := l.sums["ghost"]; !known { // after a takeover, or forgotten by a Flush
				v, err := l.get(1, []byte("ghost"))
				if err != nil {
					return err
				}
				if v != nil {
					l.sums["ghost"] = int64(binary.BigEndian.Uint64(v))
				}
			}
			l.sums["k3"]++
			l.sums["ghost"]++
			l.dirty["ghost"] = true
		}
	}
	return nil
}

// logTotals folds the live changelog as one of its readers does.
func (w *cluster) logTotals() map[string]int64 {
	sums := map[string]string{}
	for _, r := range w.readN("log", 3) {
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
		n, _ := balanceOf(v)
		out[k[2:]] += n
	}
	return out
}

func (w *cluster) readN(topic string, partitions int32) (out []*kgo.Record) {
	for p := range partitions {
		cl, err := changelog.NewReader(w.kafka(), topic, map[int32]kgo.Offset{p: kgo.NewOffset().AtStart()})
		if err != nil {
			w.t.Fatal(err)
		}
		for {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			fetches := cl.PollRecords(ctx, 10_000)
			cancel()
			if fetches.NumRecords() == 0 {
				break
			}
			fetches.EachRecord(func(r *kgo.Record) {
				if !r.Attrs.IsControl() {
					out = append(out, r)
				}
			})
		}
		cl.Close()
	}
	return out
}

// TestPromote: a core that miscounts, the corrected core in a replay, and then the live processor with the corrected totals
// goes on as if it had never been wrong. The promoter dies at each of its steps on the way; no step counts anything twice.
func TestPromote(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, w *cluster) {
		fs, ctx := vfs.NewCrashableMem(), context.Background()
		bad, good := accounts("in"), accounts("in")
		bad.New = newWrong
		w.grow(fs, bad, 0, 600)
		if got := w.logTotals(); got["k3"] != 180 || got["ghost"] != 90 || got["k4"] != 90 {
			t.Fatalf("the wrong core gives %v", got)
		}
		name := "fixed"
		if err := w.shadow(fs, good, name).Prepare(ctx, Start{}); err != nil {
			t.Fatal(err)
		}
		dry, err := w.shadow(fs, good, name).Promote(ctx, Promotion{})
		if err != nil {
			t.Fatal(err)
		}
		var put, deleted int64
		for _, c := range dry {
			put, deleted = put+c.Put, deleted+c.Deleted
		}
		if put != 3 || deleted != 3 {
			t.Errorf("the dry run says %d put, %d deleted: %+v", put, deleted, dry)
		}
		if got := w.logTotals(); got["k3"] != 180 {
			t.Errorf("after the dry run: %v", got)
		}
		died, errDied := 0, errors.New("died")
		for at := 1; ; at++ { // at its first step, then at its second, ...
			n := 0
			dying := stepping(ctx, func() error {
				if n++; n == at {
					return errDied
				}
				return nil
			})
			_, err := w.shadow(fs, good, name).Promote(dying, Promotion{Commit: true})
			if err == nil {
				break
			}
			if died++; !errors.Is(err, errDied) || died > 20 {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second) // the dead promoter's session
		}
		if died < 4 {
			t.Errorf("died at %d steps only", died)
		}
		want := map[string]int64{}
		for i := range 10 {
			want[fmt.Sprint("k", i)] = 90
		}
		if got := w.logTotals(); !maps.Equal(got, want) {
			t.Errorf("readers of the changelog see %v", got)
		}
		before := w.alive()
		again, err := w.shadow(fs, good, name).Promote(ctx, Promotion{Commit: true})
		if err != nil || len(again) != 0 {
			t.Errorf("a second promotion changes %+v, %v", again, err)
		}
		for what, end := range w.alive() { // barriers, with their control records, are all that a promotion of nothing leaves
			if strings.HasPrefix(what, "log") {
				end -= 2
			}
			if before[what] != end {
				t.Errorf("a second promotion moved %s from %d to %d", what, before[what], end)
			}
		}
		w.sequences()
		var mu sync.Mutex
		lost := map[int32]bool{} // whether the first takeover of a partition had no local tables
		good.New = func(t stream.Task) (stream.Handler, error) {
			mu.Lock()
			defer mu.Unlock()
			if _, ok := lost[t.Partition]; !ok {
				lost[t.Partition] = t.LocalNext == nil
			}
			return newAccount(t)
		}
		for i, disk := range []vfs.FS{fs, vfs.NewCrashableMem(), fs} { // with the old store, rebuilt from the log, and again
			rt, end := w.begin("a", processors.Config{Workers: 2, FS: disk}, good)
			w.fill(3, 30)
			for k := range want {
				want[k] += 3
			}
			var n int64
			for p := range int32(3) {
				n += w.endOf("in", p)
			}
			w.until("it goes on", time.Minute, w.folded(rt, n))
			got := map[string]int64{}
			for k := range want {
				for p := range int32(3) {
					got[k] += w.sum(rt, p, k)
				}
			}
			if ghost := w.sum(rt, 0, "ghost"); !maps.Equal(got, want) || ghost != 0 {
				t.Errorf("live holds %v and %d of the ghost, want %v", got, ghost, want)
			}
			if err := end(); err != nil {
				t.Fatal(err)
			}
			if none := i < 2; !maps.Equal(lost, map[int32]bool{0: none, 1: none, 2: none}) {
				t.Errorf("start %d: partitions without local tables %v, want all %t: they do not fit a state from outside", i, lost, none)
			}
			clear(lost)
		}
		w.sequences()
	})
}

// sequences checks that the transactions of each partition follow each other.
func (w *cluster) sequences() {
	w.t.Helper()
	last := map[int32]*changelogpb.Marker{}
	for _, r := range w.readN("log", 3) {
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

// inside checks that the replay's group is where the replay was to end.
func (w *cluster) inside(s *Replay, until processors.Positions) {
	w.t.Helper()
	cl := w.client()
	defer cl.Close()
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

func (w *cluster) endOf(topic string, p int32) int64 {
	cl := w.client()
	defer cl.Close()
	ends, err := kadm.NewClient(cl).ListEndOffsets(context.Background(), topic)
	if err != nil {
		w.t.Fatal(err)
	}
	o, _ := ends.Lookup(topic, p)
	return o.Offset
}

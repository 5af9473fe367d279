//go:build synctests

package offline

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/stream"
)

func (w *cluster) hold(proc stream.Processor) (*exclusiveMember, error) {
	cfg := processors.Config{Kafka: w.kafka(), Dir: "/state", FS: vfs.NewMem(), Log: &w.log}
	cfg.Complete()
	if err := proc.Complete(); err != nil {
		return nil, err
	}
	return joinExclusive(context.Background(), &cfg, &proc)
}

// set makes a fill of one key of table 1.
func set(key string, n uint64) store.RecordSource {
	return func(send func(key, value []byte) error) error {
		return send(append([]byte{1}, key...), binary.BigEndian.AppendUint64(nil, n))
	}
}

// TestExclusiveMember: while the application runs nobody can hold its group; while it is held the application waits, and then goes on
// from what the holder wrote.
func TestExclusiveMember(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, w *cluster) {
		fs, proc := vfs.NewCrashableMem(), accounts("in")
		rt, end := w.begin("a", processors.Config{Workers: 1, FS: fs}, proc)
		w.fill(2, 20)
		w.until("it is folded", time.Minute, w.folded(rt, 20))
		if _, err := w.hold(proc); !errors.Is(err, ErrInUse) {
			t.Errorf("while the application runs: %v", err)
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		h, err := w.hold(proc)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.hold(proc); !errors.Is(err, ErrInUse) {
			t.Errorf("a second holder: %v", err)
		}
		rt, end = w.begin("a", processors.Config{Workers: 1, FS: fs}, proc)
		time.Sleep(20 * time.Second)
		if n := running(rt); n != 0 {
			t.Errorf("%d partitions run while the group is held", n)
		}
		pic, err := h.copyChangelog(context.Background(), "/copy")
		if err != nil {
			t.Fatal(err)
		}
		metas, err := pic.Metas(context.Background())
		if err != nil || len(metas) != 2 {
			t.Fatalf("the copy of the changelog holds %v, %v", metas, err)
		}
		if err := pic.Close(); err != nil {
			t.Fatal(err)
		}
		last := metas[0].Marker
		if err := h.write(context.Background(), 0, h.newMarker(last, changelogpb.NextOffsets(last.Inputs)), set("k0", 1000)); err != nil {
			t.Fatal(err)
		}
		h.release()
		w.until("the application goes on", time.Minute, func() bool { return running(rt) == 2 })
		w.fill(2, 20)
		w.until("it is folded", time.Minute, w.folded(rt, 40))
		if sum := w.sum(rt, 0, "k0"); sum != 1002 {
			t.Errorf("the sum is %d, want 1002", sum)
		}
		if s := w.status(rt, 0); s.OwnerEpoch <= last.OwnerEpoch+1 {
			t.Errorf("epoch %d follows the holder's %d", s.OwnerEpoch, last.OwnerEpoch+1)
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestExclusiveMemberExpires: a holder that the group has given up commits nothing.
func TestExclusiveMemberExpires(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, w *cluster) {
		fs, proc := vfs.NewCrashableMem(), accounts("in")
		w.foldThree(fs)
		h, err := w.hold(proc)
		if err != nil {
			t.Fatal(err)
		}
		defer h.release()
		last := map[string]int64{"in": 3}
		before := w.alive()
		cl := w.client()
		defer cl.Close()
		adm := kadm.NewClient(cl)
		got, err := adm.DescribeGroups(context.Background(), appID)
		if err != nil || len(got[appID].Members) != 1 {
			t.Fatalf("members: %v, %v", got, err)
		}
		leave := kmsg.NewPtrLeaveGroupRequest()
		leave.Group = appID
		member := kmsg.NewLeaveGroupRequestMember()
		member.MemberID = got[appID].Members[0].MemberID
		leave.Members = append(leave.Members, member)
		if _, err := leave.RequestWith(context.Background(), cl); err != nil {
			t.Fatal(err)
		}
		if err := h.write(context.Background(), 0, h.newMarker(nil, last), set("k", 1_000_000)); err == nil {
			t.Error("it commits")
		}
		group := func(all map[string]int64) map[string]int64 {
			maps.DeleteFunc(all, func(what string, _ int64) bool { return !strings.HasPrefix(what, "group ") })
			return all
		}
		if was, is := group(before), group(w.alive()); !maps.Equal(was, is) || len(was) != 1 {
			t.Errorf("the group's offsets were %v, are %v", was, is)
		}
		if sum := w.logTotals()["k"]; sum != 6 {
			t.Errorf("readers of the changelog see %d, want 6", sum)
		}
	})
}

// TestPrepareCutShort: whatever step Prepare dies at, the next one makes the replay whole.
func TestPrepareCutShort(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, w *cluster) {
		fs, ctx, proc := vfs.NewCrashableMem(), context.Background(), accounts("in")
		_, flowing := w.grow(fs, proc, 0, 300)
		before := w.alive()
		errDied, died := errors.New("died"), 0
		for at := 1; ; at++ {
			n := 0
			dying := stepping(ctx, func() error {
				if n++; n == at {
					return errDied
				}
				return nil
			})
			err := w.shadow(fs, proc, "again").Prepare(dying, Start{Savepoint: "rest300"})
			if err == nil {
				break
			}
			if died++; !errors.Is(err, errDied) || died > 20 {
				t.Fatal(err)
			}
			if err := w.shadow(fs, proc, "again").Run(ctx, flowing.Positions(), nil); !errors.Is(err, ErrReplay) {
				t.Errorf("run after Prepare died at step %d: %v", at, err)
			}
			time.Sleep(10 * time.Second) // the dead one's session
		}
		if died < 4 {
			t.Errorf("died at %d steps only", died)
		}
		s := w.shadow(fs, proc, "again")
		if err := s.Run(ctx, flowing.Positions(), nil); err != nil {
			t.Fatal(err)
		}
		if diff := w.unequal(s, flowing); diff != nil {
			t.Errorf("differs in %v", diff)
		}
		if now := w.alive(); !maps.Equal(before, now) {
			t.Errorf("the live processor's topics and offsets were %v, are %v", before, now)
		}
	})
}

// only takes one key, and keeps in key "total" the sum over all of a partition.
type only struct {
	key  string
	diff int64
}

func (o *only) Take(_ byte, key, live, shadow []byte) (bool, error) {
	if string(key) != o.key {
		return false, nil
	}
	for sign, v := range map[int64][]byte{-1: live, 1: shadow} {
		if v != nil {
			n, err := balanceOf(string(v))
			if err != nil {
				return false, err
			}
			o.diff += sign * n
		}
	}
	return true, nil
}

func (o *only) Finish(live Get, ch *stream.Changes) error {
	v, err := live(1, []byte("total"))
	if err != nil {
		return err
	}
	var n int64
	if v != nil {
		n, _ = balanceOf(string(v))
	}
	ch.Put(1, []byte("total"), binary.BigEndian.AppendUint64(nil, uint64(n+o.diff)))
	return nil
}

// TestPromoteSelected promotes one key and what depends on it, and leaves the other mistakes as they are.
func TestPromoteSelected(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, w *cluster) {
		fs, ctx := vfs.NewCrashableMem(), context.Background()
		bad, good := accounts("in"), accounts("in")
		bad.New = newWrong
		w.grow(fs, bad, 0, 600)
		s := w.shadow(fs, good, "fixed")
		if err := s.Prepare(ctx, Start{}); err != nil {
			t.Fatal(err)
		}
		how := Promotion{Commit: true, Select: func(int32) Selector { return &only{key: "k3"} }}
		for round, keys := range []int64{6, 0} { // the key and the total in three partitions; then nothing
			list, err := s.Promote(ctx, how)
			var n int64
			for _, c := range list {
				n += c.Put + c.Deleted
			}
			if err != nil || n != keys {
				t.Errorf("round %d: %d keys, %+v, %v", round, n, list, err)
			}
		}
		if got := w.logTotals(); got["k3"] != 90 || got["ghost"] != 90 || got["total"] != -90 {
			t.Errorf("readers of the changelog see %v", got)
		}
	})
}

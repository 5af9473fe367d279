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
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/ledger"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/stream"
)

// join joins the group of a processor as its exclusive member.
func (w *fixture) join(proc stream.Processor) (*exclusiveMember, error) {
	cfg := w.config(vfs.NewMem())
	cfg.SetDefaults()
	if err := proc.Complete(); err != nil {
		return nil, err
	}
	return joinExclusive(context.Background(), &cfg, &proc)
}

// oneRecord is a source with one key of table 1.
func oneRecord(key string, n uint64) store.RecordSource {
	return func(send func(key, value []byte) error) error {
		return send(append([]byte{1}, key...), binary.BigEndian.AppendUint64(nil, n))
	}
}

// TestExclusiveMember: while the application runs, its group has no room for an exclusive member.
// While there is an exclusive member, the application waits. Then it continues from what the member
// wrote.
func TestExclusiveMember(t *testing.T) {
	runLedger(t, 2, func(t *testing.T, w *fixture) {
		proc := ledger.Processor("in")
		p := w.StartWith("a", processors.Config{Workers: 1}, proc)
		w.fill(2, 20)
		w.WaitFor("the records are folded", time.Minute, folded(p, 20))
		if _, err := w.join(proc); !errors.Is(err, ErrInUse) {
			t.Errorf("while the application runs: %v", err)
		}
		p.Stop()
		h, err := w.join(proc)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.join(proc); !errors.Is(err, ErrInUse) {
			t.Errorf("a second exclusive member: %v", err)
		}
		p = w.StartWith("a", processors.Config{Workers: 1}, proc)
		time.Sleep(20 * time.Second)
		if n := running(p.Runtime()); n != 0 {
			t.Errorf("%d partitions run beside the exclusive member", n)
		}
		db, err := h.copyChangelog(context.Background(), "/copy")
		if err != nil {
			t.Fatal(err)
		}
		metas, err := db.Metas(context.Background())
		if err != nil || len(metas) != 2 {
			t.Fatalf("the copy of the changelog holds %v, %v", metas, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		last := metas[0].Marker
		if err := h.write(context.Background(), 0, h.newMarker(last, changelogpb.NextOffsets(last.Inputs)), oneRecord("k0", 1000)); err != nil {
			t.Fatal(err)
		}
		h.release()
		w.WaitFor("the application continues", time.Minute, func() bool { return running(p.Runtime()) == 2 })
		w.fill(2, 20)
		w.WaitFor("the records are folded", time.Minute, folded(p, 40))
		if sum := w.sum(p, 0, "k0"); sum != 1002 {
			t.Errorf("the sum is %d, want 1002", sum)
		}
		if s := p.Status(0); s.OwnerEpoch <= last.OwnerEpoch+1 {
			t.Errorf("owner epoch %d follows the %d of the exclusive member", s.OwnerEpoch, last.OwnerEpoch+1)
		}
		p.Stop()
	})
}

// TestRefusedCopy: without the right to read the changelog, the error of a copy names the same
// partition each time, whichever broker answers first.
func TestRefusedCopy(t *testing.T) {
	runLedger(t, 16, func(t *testing.T, w *fixture) {
		h, err := w.join(ledger.Processor("in"))
		if err != nil {
			t.Fatal(err)
		}
		defer h.release()
		fault := w.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.TopicAuthorizationFailed, Count: -1})
		defer fault.Remove() // the checks of the harness read, too
		if _, err := h.copyChangelog(context.Background(), "/copy"); err == nil || !strings.HasPrefix(err.Error(), "read log[0]: TOPIC_AUTHORIZATION_FAILED") {
			t.Errorf("the error is %v", err)
		}
	})
}

// TestPartlyCommittedMarkers: a marker that a partition lacks, because the brokers have committed
// its transaction in part, is found.
func TestPartlyCommittedMarkers(t *testing.T) {
	runLedger(t, 3, func(t *testing.T, w *fixture) {
		ctx := context.Background()
		h, err := w.join(ledger.Processor("in"))
		if err != nil {
			t.Fatal(err)
		}
		defer h.release()
		ends, err := h.adm.ListEndOffsets(ctx, "log")
		if err != nil {
			t.Fatal(err)
		}
		markers := map[int32]*changelogpb.Marker{}
		for p := range int32(3) {
			markers[p] = h.newMarker(nil, map[string]int64{"in": 0})
		}
		if err := h.writeMarkers(ctx, map[int32]*changelogpb.Marker{0: markers[0]}); err != nil {
			t.Fatal(err)
		}
		got, err := h.lacking(ctx, markers, ends)
		if err != nil || len(got) != 2 || got[1] != markers[1] || got[2] != markers[2] {
			t.Errorf("lacking are %v, %v", got, err)
		}
		if err := h.confirmMarkers(ctx, got); err != nil {
			t.Error(err)
		}
		if got, err = h.lacking(ctx, markers, ends); err != nil || len(got) != 0 {
			t.Errorf("after they were written, lacking are %v, %v", got, err)
		}
	})
}

// TestExclusiveMemberExpires: an exclusive member that is no longer in the group commits nothing.
func TestExclusiveMemberExpires(t *testing.T) {
	runLedger(t, 1, func(t *testing.T, w *fixture) {
		proc := ledger.Processor("in")
		w.foldThree()
		h, err := w.join(proc)
		if err != nil {
			t.Fatal(err)
		}
		defer h.release()
		last := map[string]int64{"in": 3}
		before := w.liveOffsets()
		cl := w.Client()
		adm := kadm.NewClient(cl)
		got, err := adm.DescribeGroups(context.Background(), ledger.App)
		if err != nil || len(got[ledger.App].Members) != 1 {
			t.Fatalf("members: %v, %v", got, err)
		}
		leave := kmsg.NewPtrLeaveGroupRequest()
		leave.Group = ledger.App
		member := kmsg.NewLeaveGroupRequestMember()
		member.MemberID = got[ledger.App].Members[0].MemberID
		leave.Members = append(leave.Members, member)
		if _, err := leave.RequestWith(context.Background(), cl); err != nil {
			t.Fatal(err)
		}
		if err := h.write(context.Background(), 0, h.newMarker(nil, last), oneRecord("k", 1_000_000)); err == nil {
			t.Error("the transaction was committed")
		}
		group := func(all map[string]int64) map[string]int64 {
			maps.DeleteFunc(all, func(what string, _ int64) bool { return !strings.HasPrefix(what, "group ") })
			return all
		}
		if was, is := group(before), group(w.liveOffsets()); !maps.Equal(was, is) || len(was) != 1 {
			t.Errorf("the group's offsets were %v, are %v", was, is)
		}
		if sum := w.logTotals()["k"]; sum != 6 {
			t.Errorf("readers of the changelog see %d, want 6", sum)
		}
	})
}

// TestPrepareInterrupted: Prepare is killed at each of its steps in turn. The next Prepare
// completes the replay.
func TestPrepareInterrupted(t *testing.T) {
	runLedger(t, 3, func(t *testing.T, w *fixture) {
		fs, ctx, proc := w.Disk("a"), context.Background(), ledger.Processor("in")
		_, flowing := w.grow(proc, 0, 300)
		before := w.liveOffsets()
		errKilled, killed := errors.New("died"), 0
		for at := 1; ; at++ {
			n := 0
			hooked := stepping(ctx, func() error {
				if n++; n == at {
					return errKilled
				}
				return nil
			})
			err := w.replay(fs, proc, "again").Prepare(hooked, ReplayStart{Savepoint: "rest300"})
			if err == nil {
				break
			}
			if killed++; !errors.Is(err, errKilled) || killed > 20 {
				t.Fatal(err)
			}
			if err := w.replay(fs, proc, "again").Run(ctx, flowing.Positions(), nil); !errors.Is(err, ErrReplay) {
				t.Errorf("Run after Prepare was killed at step %d: %v", at, err)
			}
			time.Sleep(10 * time.Second) // until the session of the killed member expires
		}
		if killed < 4 {
			t.Errorf("killed at %d steps only", killed)
		}
		s := w.replay(fs, proc, "again")
		if err := s.Run(ctx, flowing.Positions(), nil); err != nil {
			t.Fatal(err)
		}
		if diff := w.unequal(s, flowing); diff != nil {
			t.Errorf("the replay differs in %v", diff)
		}
		if now := w.liveOffsets(); !maps.Equal(before, now) {
			t.Errorf("the live processor's topics and offsets were %v, are %v", before, now)
		}
	})
}

// keySelector selects one key, and changes key "total", the sum over a partition, by the
// difference.
type keySelector struct {
	key  string
	live stream.Get
	diff int64
}

func (o *keySelector) Take(_ byte, key, live, replay []byte) (bool, error) {
	if string(key) != o.key {
		return false, nil
	}
	for sign, v := range map[int64][]byte{-1: live, 1: replay} {
		if v != nil {
			n, err := ledger.Decode(string(v))
			if err != nil {
				return false, err
			}
			o.diff += sign * n
		}
	}
	return true, nil
}

func (o *keySelector) Rewrite(_ byte, _, value []byte) ([]byte, error) { return value, nil }

func (o *keySelector) Finish(ch *stream.Changes) error {
	v, err := o.live(1, []byte("total"))
	if err != nil {
		return err
	}
	var n int64
	if v != nil {
		n, _ = ledger.Decode(string(v))
	}
	ch.Put(1, []byte("total"), binary.BigEndian.AppendUint64(nil, uint64(n+o.diff)))
	return nil
}

// TestPromoteSelected promotes one key and what depends on it. The other wrong keys stay.
func TestPromoteSelected(t *testing.T) {
	runLedger(t, 3, func(t *testing.T, w *fixture) {
		fs, ctx := w.Disk("a"), context.Background()
		bad, good := ledger.Processor("in"), ledger.Processor("in")
		bad.New = newWrongSums
		w.grow(bad, 0, 600)
		s := w.replay(fs, good, "fixed")
		if err := s.Prepare(ctx, ReplayStart{}); err != nil {
			t.Fatal(err)
		}
		how := Promotion{Commit: true, Select: func(_ int32, live stream.Get, c stream.Commit) (Selector, error) {
			if c.Incarnation == 0 {
				t.Error("a promotion has the incarnation of the live state, not 0")
			}
			return &keySelector{key: "k3", live: live}, nil
		}}
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

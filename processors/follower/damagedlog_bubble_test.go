//go:build synctests

package follower

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/processors/kafka"
)

// damaged is the key of a record whose batch has a wrong checksum while the cluster damages it.
const damaged = "key-of-damage"

// sendBomb writes a record to plain[0] that decompresses to more than the clients accept.
func (x *fixture) sendBomb() {
	x.t.Helper()
	cl := x.client(kgo.ProducerBatchMaxBytes(100<<20), kgo.ProducerBatchCompression(kgo.GzipCompression()))
	defer cl.Close()
	if err := cl.ProduceSync(context.Background(), &kgo.Record{Topic: "plain", Key: []byte("bomb"), Value: make([]byte, kafka.MaxBatchBytes)}).FirstErr(); err != nil {
		x.t.Fatal(err)
	}
}

// awaitDamage waits until plain[0] cannot be read.
func (x *fixture) awaitDamage() Status {
	x.t.Helper()
	for range 600 {
		if all := x.f.Status(); len(all) > partitions && all[partitions].Unreadable != nil {
			return all[partitions]
		}
		time.Sleep(100 * time.Millisecond)
	}
	x.t.Fatalf("no damage is found after a minute: %+v\n%s", x.f.Status(), x.log.String())
	return Status{}
}

// TestDamagedLog: a follower that meets a batch that cannot be decoded reports it, with the age of
// the rows. It serves what it has, follows the other partitions, and goes on once the batch is
// whole or is not in the log any longer.
func TestDamagedLog(t *testing.T) {
	for name, c := range map[string]struct {
		apply func(x *fixture)
		heal  func(x *fixture)
	}{
		"is whole again": {
			func(x *fixture) {
				x.cluster.Damage(damaged)
				x.send(x.writer, "plain", 0, damaged+"=1")
			},
			func(x *fixture) { x.cluster.Damage("") },
		},
		"is deleted": {
			func(x *fixture) {
				x.cluster.Damage(damaged)
				x.send(x.writer, "plain", 0, damaged+"=1")
			},
			(*fixture).deleteFirst,
		},
		"too large": {(*fixture).sendBomb, (*fixture).deleteFirst},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newFixture(t)
				defer x.close()
				x.send(x.writer, "plain", 0, "a=1", "old=1")
				x.start()
				x.check()
				complete, loads := time.Now(), x.logged("follower_loading")
				c.apply(x)
				x.send(x.writer, "plain", 0, "a=2")
				s := x.awaitDamage()
				if u := s.Unreadable; s.State != StateWaiting || u.Offset != 2 || u.Resume != 3 || s.Reason != u.Error() || !kafka.Damaged(u) || !strings.Contains(s.Reason, "plain[0] cannot be read at offset 2") {
					t.Errorf("status %+v", s)
				}
				if took := time.Since(complete); took > 50*time.Second {
					t.Errorf("the damage is found after %s", took)
				}
				x.send(x.writer, "plain", 1, "b=1")
				time.Sleep(3 * time.Minute)
				if row, found, err := x.f.Get("plain", 0, []byte("a")); string(row.Value) != "1" || !found || err != nil {
					t.Errorf("the row before the batch is %+v, %t, %v", row, found, err)
				}
				if row, found, err := x.f.Get("plain", 1, []byte("b")); string(row.Value) != "1" || !found || err != nil {
					t.Errorf("the row of another partition is %+v, %t, %v", row, found, err)
				}
				if age := time.Since(x.f.AsOf()); age < 3*time.Minute || x.f.Status()[partitions].Unreadable == nil {
					t.Errorf("the rows are complete as of %s ago: %+v", age, x.f.Status()[partitions])
				}
				if n := x.logged("follower_stopped"); n != 1 || x.logged("follower_loading") != loads {
					t.Errorf("%d reports, %d loads", n, x.logged("follower_loading")-loads)
				}
				c.heal(x)
				time.Sleep(40 * time.Second)
				x.cluster.Damage("") // for the reader of check
				x.check()
				if s := x.f.Status()[partitions]; s.Unreadable != nil || s.State != StateFollowing {
					t.Errorf("status %+v", s)
				}
				if row, _, err := x.f.Get("plain", 0, []byte("a")); string(row.Value) != "2" || err != nil {
					t.Errorf("the row behind the batch is %+v, %v", row, err)
				}
			})
		})
	}
}

// TestDamagedLogKeepsEpoch: a partition that is fetched again after errors still notices that a new
// leader has another history: it asks for the end of the epoch of its last record.
func TestDamagedLogKeepsEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newFixture(t)
		defer x.close()
		x.send(x.writer, "plain", 0, "a=1")
		x.start()
		x.check()
		x.cluster.Damage(damaged)
		x.send(x.writer, "plain", 0, damaged+"=1")
		time.Sleep(5 * time.Second)
		asked := x.cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetForLeaderEpoch}, Topic: "plain", Partitions: []int32{0}, Observe: true, Count: -1})
		x.cluster.ShufflePartitionLeaders()
		time.Sleep(30 * time.Second)
		if asked.Hits() == 0 {
			t.Error("it did not ask for the end of the epoch")
		}
		x.cluster.Damage("")
		time.Sleep(5 * time.Second)
		x.check()
	})
}

// deleteFirst deletes the first three records of plain[0].
func (x *fixture) deleteFirst() {
	x.t.Helper()
	if err := x.cluster.DeleteRecords("plain", 0, 3); err != nil {
		x.t.Fatal(err)
	}
}

// TestDamagedLoad: a partition that cannot be loaded keeps no other from being loaded.
func TestDamagedLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newFixture(t)
		defer x.close()
		x.sendBomb()
		x.send(x.writer, "plain", 0, "a=1")
		x.start()
		x.awaitDamage()
		fetched := x.cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "plain", Partitions: []int32{0}, Observe: true, Count: -1})
		time.Sleep(time.Minute)
		if n := fetched.Hits(); n < 2 || n > 8 {
			t.Errorf("the damaged batch was fetched %d times in a minute: each may decompress 64 MiB", n)
		}
		x.send(x.writer, "plain", 1, "b=1")
		time.Sleep(time.Minute)
		if row, found, err := x.f.Get("plain", 1, []byte("b")); string(row.Value) != "1" || !found || err != nil {
			t.Errorf("the row of another partition is %+v, %t, %v", row, found, err)
		}
		if _, _, err := x.f.Get("plain", 0, []byte("a")); !errors.Is(err, ErrLoading) || !x.f.AsOf().IsZero() {
			t.Errorf("the damaged partition: %v, complete as of %s", err, x.f.AsOf())
		}
		if n := x.logged("follower_loading"); n != 2*partitions {
			t.Errorf("%d loads of %d partitions", n, 2*partitions)
		}
		if err := x.cluster.DeleteRecords("plain", 0, 1); err != nil {
			t.Fatal(err)
		}
		x.check()
		<-x.f.CaughtUp()
	})
}

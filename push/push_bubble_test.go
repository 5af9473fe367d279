//go:build synctests

package push

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// TestFollow: rows and health arrive within seconds, the newest value of each key once a second;
// rows of other tables, aborted rows and deleted rows do not.
func TestFollow(t *testing.T) {
	err := inRuntime(t, 1, nil, func(x *fixture) {
		x.start("a")
		for n := range 100 {
			p := int32(n % partitions)
			x.write(p, x.entries(5)...)
			if n%10 == 0 {
				x.eu.Abort("aborted", "data", p, messages(x.entries(3))...)
			}
			time.Sleep(100 * time.Millisecond)
		}
		for p := range int32(partitions) {
			x.followed(p)
			at, found := x.position(p)
			if s, _ := x.status(p); !found || s.Next != at.Next || s.AsOfMs < time.Now().Add(-20*time.Second).UnixMilli() || s.Pushed == 0 {
				x.Errorf("status %+v, position %+v", s, at)
			}
			health, rows := 0, 0
			for _, r := range x.copies(p) {
				if rows++; r.Key[0] == healthTable {
					health++
				}
			}
			if health < 8 || health > 14 || rows >= len(x.dataset[p])*9/10 {
				x.Errorf("%d records, %d of them health, for 10 s and %d changes", rows, health, len(x.dataset[p]))
			}
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// TestKills kills two processes at every failpoint of a commit and between, while rows are written,
// the leaders of both clusters move and links are cut.
func TestKills(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			if err := inRuntime(t, seed, nil, kills); err != nil {
				t.Error(err)
			}
		})
	}
}

func kills(x *fixture) {
	names := []string{"a", "b"}
	x.start("a")
	x.start("b")
	for _, failpoint := range append(processorstest.Failpoints(), processorstest.Failpoints()...) {
		name := names[x.rng.IntN(2)]
		x.procs[name].KillAt(failpoint)
		for range 10 {
			p := int32(x.rng.IntN(partitions))
			switch x.rng.IntN(8) {
			case 0:
				x.eu.Abort("aborted", "data", p, messages(x.entries(3))...)
			case 1:
				x.eu.MoveLeaders()
			case 2:
				x.k.MoveLeaders()
			case 3:
				l := x.procs[names[x.rng.IntN(2)]].link
				l.Cut()
				time.Sleep(time.Duration(x.rng.IntN(2000)) * time.Millisecond)
				l.Heal()
			default:
				x.write(p, x.entries(1+x.rng.IntN(20))...)
			}
			time.Sleep(time.Duration(x.rng.IntN(600)) * time.Millisecond)
		}
		x.procs[name].Kill()
		x.start(name)
	}
}

// TestTakeoverDoesNotCompare: the next owner of a partition continues at the position.
func TestTakeoverDoesNotCompare(t *testing.T) {
	err := inRuntime(t, 1, nil, func(x *fixture) {
		a := x.start("a")
		x.write(0, x.entries(20)...)
		x.followed(0)
		before := len(x.copies(0))
		a.Kill()
		x.start("b")
		x.followed(0)
		x.write(0, x.entries(0)...)
		x.followed(0)
		if got := len(x.copies(0)); got != before+1 {
			x.Errorf("%d records in the copy, then %d: want one more", before, got)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// TestDatasetAway: the datacentre of the dataset does not answer for ten minutes.
func TestDatasetAway(t *testing.T) {
	err := inRuntime(t, 1, nil, func(x *fixture) {
		a := x.start("a")
		x.write(0, x.entries(20)...)
		x.followed(0)
		a.link.Cut()
		for range 20 {
			x.write(0, x.entries(50)...)
			time.Sleep(30 * time.Second)
		}
		if s, _ := x.status(0); s.Problem == "" || s.Stopped || s.Comparing != "" {
			x.Errorf("status %+v", s)
		}
		a.link.Heal()
		x.followed(0)
	})
	if err != nil {
		t.Error(err)
	}
}

// TestTargetAway: the target does not answer for ten minutes.
func TestTargetAway(t *testing.T) {
	err := inRuntime(t, 1, nil, func(x *fixture) {
		a := x.start("a")
		x.write(0, x.entries(20)...)
		x.followed(0)
		a.Cut()
		for range 20 {
			x.write(0, x.entries(50)...)
			time.Sleep(30 * time.Second)
		}
		a.Heal()
		x.write(0, x.entries(50)...)
		x.followed(0)
	})
	if err != nil {
		t.Error(err)
	}
}

// foreign writes rows to the copy that the dataset does not have.
func (x *fixture) foreign(p int32, keys ...string) {
	x.Helper()
	for _, key := range keys {
		x.k.Produce("copy", p, key, "foreign")
	}
}

// TestNewCopy: a topic that has rows of another dataset becomes a copy of this one.
func TestNewCopy(t *testing.T) {
	err := inRuntime(t, 1, nil, func(x *fixture) {
		x.foreign(0, "\x01other", "\x09other", "\x0cother", "\x01"+"3", "\x07table")
		x.foreign(0, "") // an empty key
		x.write(0, x.entries(200)...)
		x.start("a")
		x.followed(0)
	})
	if err != nil {
		t.Error(err)
	}
}

// TestRecreatedDataset: the topic of the dataset was deleted and created again.
func TestRecreatedDataset(t *testing.T) {
	for name, running := range map[string]bool{"while it is followed": true, "while no process runs": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := inRuntime(t, 1, nil, func(x *fixture) {
				a := x.start("a")
				x.write(0, x.entries(200)...)
				x.followed(0)
				if !running {
					a.Kill()
				}
				x.eu.Recreate("data", partitions)
				x.dataset = [partitions][]entry{}
				x.write(0, x.entries(300)...)
				if !running {
					x.start("b")
				}
				x.caughtUp()
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRecreatedCopy: the topic of the copy was deleted and created again, also if the dataset has
// no new row.
func TestRecreatedCopy(t *testing.T) {
	for name, c := range map[string]struct{ running, writes bool }{
		"while no process runs":               {false, true},
		"while no process runs, without rows": {false, false},
		"while it is written":                 {true, true},
		"while it is followed":                {true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := inRuntime(t, 1, nil, func(x *fixture) {
				a := x.start("a")
				x.write(0, x.entries(200)...)
				x.followed(0)
				if !c.running {
					a.Kill()
				}
				x.recreateCopy()
				for n := 0; n < 20 && c.writes; n++ {
					x.write(0, x.entries(3)...)
					time.Sleep(time.Second)
				}
				if !c.running {
					x.start("b")
				}
				x.followed(0)
				x.followed(1)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func (x *fixture) recreateCopy() {
	x.Helper()
	if err := errors.Join(x.k.Cluster.DeleteTopic("copy"), x.k.Cluster.CreateTopic("copy", partitions, nil)); err != nil {
		x.Fatal(err)
	}
}

// TestLostRecords: records of the dataset were deleted before they were read.
func TestLostRecords(t *testing.T) {
	err := inRuntime(t, 1, nil, func(x *fixture) {
		a := x.start("a")
		x.write(0, x.entries(200)...)
		x.followed(0)
		a.link.Cut()
		x.write(0, x.entries(100)...)
		x.eu.DeleteRecords("data", 0, 250)
		x.dataset[0] = x.dataset[0][249:] // 201 entries, the marker, and 48
		a.link.Heal()
		x.write(0, x.entries(3)...)
	})
	if err != nil {
		t.Error(err)
	}
}

// TestOldPosition: no process ran for so long that compaction may have removed a tombstone. The
// test removes it.
func TestOldPosition(t *testing.T) {
	for name, away := range map[string]time.Duration{"old": 11 * time.Minute, "young": 9 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := inRuntime(t, 1, func(c *Config) { c.TombstonesKept = 20 * time.Minute }, func(x *fixture) {
				a := x.start("a")
				x.write(0, entry{key: "\x01gone", n: 1}, entry{key: "\x01stays", n: 2}, entry{key: "\x0c", n: 3})
				x.made = 3
				x.followed(0)
				a.Stop()
				time.Sleep(away)
				x.write(0, entry{key: "\x01stays", n: 4}, entry{key: "\x0c", n: 5})
				x.made = 5
				x.start("b")
				x.followed(0)
				rows := 0
				for _, r := range x.copies(0) {
					if string(r.Key) == "\x01gone" {
						rows++
					}
				}
				if want := map[string]int{"old": 2, "young": 1}[name]; rows != want {
					x.Errorf("the row was written %d times, want %d", rows, want)
				}
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOpenTransaction: a former owner has rows in a transaction that is not decided when the next
// one begins to compare, and is committed then.
func TestOpenTransaction(t *testing.T) {
	err := inRuntime(t, 1, nil, func(x *fixture) {
		commit := x.k.OpenTransaction("copy", 0, "\x01former", "1")
		x.write(0, x.entries(20)...)
		x.start("a")
		time.Sleep(20 * time.Second)
		commit()
		x.followed(0)
	})
	if err != nil {
		t.Error(err)
	}
}

// TestWritesWhileComparing: rows are written while both logs are read.
func TestWritesWhileComparing(t *testing.T) {
	err := inRuntime(t, 1, func(c *Config) { c.ReaderBytes = 4 << 10 }, func(x *fixture) {
		for range 20 {
			x.write(0, x.entries(100)...)
		}
		x.foreign(0, "\x01other")
		x.start("a")
		for range 200 {
			x.write(0, x.entries(10)...)
			time.Sleep(10 * time.Millisecond)
		}
		x.followed(0)
	})
	if err != nil {
		t.Error(err)
	}
}

// TestHealthWhileComparing: a health record is before the end of a comparison, and so is a newer
// value of a row that was written before it. It is not pushed before the row.
func TestHealthWhileComparing(t *testing.T) {
	err := inRuntime(t, 1, nil, func(x *fixture) {
		x.write(0, entry{key: "\x01y", n: 1}, entry{key: "\x0c", n: 2})
		x.made = 2
		x.write(0, x.entries(3000)...)
		x.made++
		x.write(0, entry{key: "\x01y", n: x.made})
		x.write(0, x.entries(0)...)
		x.start("a")
		x.followed(0)
	})
	if err != nil {
		t.Error(err)
	}
}

// TestRowsUnderWayWhileComparing: rows of the former dataset wait for the brokers of the target
// when the dataset is created again. They arrive before the comparison reads the copy.
func TestRowsUnderWayWhileComparing(t *testing.T) {
	for _, refused := range []time.Duration{2 * time.Second, 5 * time.Second, 30 * time.Second} {
		t.Run(refused.String(), func(t *testing.T) {
			t.Parallel()
			err := inRuntime(t, 1, nil, func(x *fixture) {
				x.start("a")
				x.write(0, x.entries(20)...)
				x.followed(0)
				allow := x.k.RefuseWrites("copy")
				x.made++
				x.write(0, entry{key: "\x01gone", n: x.made})
				time.Sleep(1500 * time.Millisecond)
				x.eu.Recreate("data", partitions)
				x.dataset = [partitions][]entry{}
				x.write(0, x.entries(30)...)
				x.write(1, x.entries(3)...)
				time.Sleep(refused)
				allow()
				x.followed(0)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLateHealth: a health record that is read late is held back until the log is read to its end,
// because compaction may have removed rows before it.
func TestLateHealth(t *testing.T) {
	late := func(age time.Duration) (oldest int) {
		adjust := func(c *Config) { c.HealthAge, c.QueueBytes = age, 200 } // each batch is handed over
		err := inRuntime(t, 1, adjust, func(x *fixture) {
			a := x.start("a")
			x.write(0, x.entries(10)...)
			x.followed(0)
			a.link.Cut()
			for range 20 {
				x.write(0, x.entries(500)...)
				time.Sleep(5 * time.Second)
			}
			before := len(healths(x.copies(0)))
			a.link.Heal()
			x.followed(0)
			oldest = healths(x.copies(0))[before]
		})
		if err != nil {
			t.Error(err)
		}
		return oldest
	}
	// The health records of the last 20 s are the last four.
	if n := late(20 * time.Second); n <= 11+16*501 {
		t.Errorf("health %d was pushed", n)
	}
	if n := late(time.Hour); n > 11+16*501 {
		t.Errorf("without the bound, health %d is the first that is pushed: the test shows nothing", n)
	}
}

// healths returns the numbers of the health records of a copy.
func healths(copies []stream.Record) (list []int) {
	for _, r := range copies {
		n := 0
		if r.Key[0] == healthTable {
			_, _ = fmt.Sscan(string(r.Value), &n)
			list = append(list, n)
		}
	}
	return list
}

// TestKillWhileHealthIsHeldBack: a process is killed behind a health record that it has held back,
// and no further one is written.
func TestKillWhileHealthIsHeldBack(t *testing.T) {
	var behind atomic.Int64 // kills the process when its position is there
	behind.Store(math.MaxInt64)
	var victim atomic.Pointer[process]
	kill := mutateChanges(func(list []stream.Change) []stream.Change {
		for _, c := range list {
			var at position
			if c.Op == stream.OpPut && c.Table == positionTable && json.Unmarshal(c.Value, &at) == nil && at.Next > behind.Load() {
				victim.Load().KillAt(processorstest.Ended)
			}
		}
		return list
	})
	err := inRuntime(t, 1, func(c *Config) { c.QueueBytes = 200 }, func(x *fixture) {
		x.mutate = kill
		a := x.start("a")
		victim.Store(a)
		x.write(0, x.entries(10)...)
		x.followed(0)
		a.link.Cut()
		x.write(0, x.entries(500)...)
		newest := x.made
		behind.Store(int64(len(x.dataset[0]) + 100))
		for range 20 { // rows without a health record
			x.write(0, x.entries(200)[:200]...)
		}
		time.Sleep(time.Minute)
		a.link.Heal()
		x.k.WaitFor("the process is killed", time.Minute, a.Ended)
		if list := healths(x.copies(0)); list[len(list)-1] == newest {
			x.Error("the health record was not held back: the test shows nothing")
		}
		x.mutate = nil
		x.start("b")
	})
	if err != nil {
		t.Error(err)
	}
}

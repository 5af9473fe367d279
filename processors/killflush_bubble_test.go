//go:build synctests

package processors_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rs/zerolog"

	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/processors/processorstest/crashfs"
	"github.com/weirhq/weir/stream"
)

// killDisk is a file system that calls then at a moment of Pebble's work in the background.
type killDisk struct {
	*crashfs.FS

	mu     sync.Mutex
	moment string // one of killMoments
	then   func()
}

// killMoments returns the moments of killDisk: what Pebble has just done, and with which file.
func killMoments() []string {
	return []string{
		"flush created", "flush wrote", "flush synced", "compaction created", "compaction wrote", "compaction synced",
		"manifest wrote", "table removed",
	}
}

// arm calls then once, when the moment is reached.
func (d *killDisk) arm(moment string, then func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.moment, d.then = moment, then
}

func (d *killDisk) reach(moment string) {
	d.mu.Lock()
	then := d.then
	if moment != d.moment || then == nil {
		d.mu.Unlock()
		return
	}
	d.then = nil
	d.mu.Unlock()
	then()
}

// Create implements vfs.FS.
func (d *killDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.Create(name, c)
	if err != nil {
		return nil, err
	}
	switch {
	case c == "pebble-memtable-flush":
		f = &killFile{f, d, "flush"}
	case c == "pebble-compaction":
		f = &killFile{f, d, "compaction"}
	case strings.HasPrefix(path.Base(name), "MANIFEST"):
		return &killFile{f, d, "manifest"}, nil
	default:
		return f, nil
	}
	d.reach(f.(*killFile).of + " created")
	return f, nil
}

// Remove implements vfs.FS.
func (d *killDisk) Remove(name string) error {
	err := d.FS.Remove(name)
	if path.Ext(name) == ".sst" {
		d.reach("table removed")
	}
	return err
}

type killFile struct {
	vfs.File
	d  *killDisk
	of string // flush, compaction or manifest
}

// Write implements vfs.File.
func (f *killFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	f.d.reach(f.of + " wrote")
	return n, err
}

// SyncData implements vfs.File. Pebble calls it for tables.
func (f *killFile) SyncData() error {
	err := f.File.SyncData()
	f.d.reach(f.of + " synced")
	return err
}

// killedStore is a run in which a process is killed while its store flushes and compacts.
type killedStore struct {
	*processorstest.Harness
	t     *testing.T
	rng   *rand.Rand
	bytes *rand.ChaCha8
	want  [parts]map[string]string
	kept  int // partitions whose state a kill left on the disk
}

// TestKilledWhileCompacting: a process is killed at each moment of a flush and of a compaction, and
// each crash leaves a part of what was not synced. After each start the state is exact. No store
// looks damaged, and none begins again from the start of the changelog.
func TestKilledWhileCompacting(t *testing.T) {
	const rounds = 10
	kills, kept, err := runKilledStore(t, rounds, nil)
	if err != nil {
		t.Error(err)
	}
	for _, moment := range killMoments() {
		if kills[moment] != rounds {
			t.Errorf("%d kills at the moment %q, want %d", kills[moment], moment, rounds)
		}
	}
	t.Logf("the kills left the state of %d partitions", kept)
	if want := rounds * len(killMoments()) * parts / 2; kept < want {
		t.Errorf("the kills left the state of %d partitions, want at least %d", kept, want)
	}
}

// TestKilledWhileCompactingNotices: a store that loses what was synced is noticed.
func TestKilledWhileCompactingNotices(t *testing.T) {
	for name, c := range map[string]struct {
		lose func(t *testing.T, fs *crashfs.FS)
		want string
	}{
		"tables": {loseTables, "store_damaged"},
		"rows":   {loseRows, "partition 2 has"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := runKilledStore(t, 1, c.lose); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the run reported %v", err)
			}
		})
	}
}

// loseTables removes the tables of a store.
func loseTables(t *testing.T, fs *crashfs.FS) {
	dir := path.Join(processorstest.StateDir, "rows", "db")
	names, _ := fs.List(dir) // a crash can also lose the whole directory
	for _, n := range names {
		if path.Ext(n) != ".sst" {
			continue
		}
		if err := fs.Remove(path.Join(dir, n)); err != nil {
			t.Error(err)
		}
	}
}

// loseRows removes the rows of partition 2 of a store, and keeps its positions.
func loseRows(t *testing.T, fs *crashfs.FS) {
	s := openKilled(t, fs)
	from := store.Key(2, 1, nil)
	if err := errors.Join(s.DB.DeleteRange(from, stream.PrefixEnd(from), pebble.Sync), s.Close()); err != nil {
		t.Error(err)
	}
}

// runKilledStore kills a process some times at each moment. It returns the number of kills by
// moment, how often a partition's state was left on the disk, and what was wrong. lose, if it is
// not nil, changes what each kill leaves.
func runKilledStore(t *testing.T, rounds int, lose func(t *testing.T, fs *crashfs.FS)) (kills map[string]int, kept int, verdict error) {
	kills = map[string]int{}
	var log strings.Builder
	logger := zerolog.New(zerolog.SyncWriter(&log))
	o := processorstest.Options{Processor: stream.Processor{
		App: "rows", Inputs: []string{"in"}, Changelog: "log", New: func(stream.Task) (stream.Handler, error) { return &rows{}, nil },
	}}
	o.Config.Log, o.Config.MemtableBytes, o.Config.BallastBytes = &logger, 192<<10, -1
	var errs []error
	verdict = processorstest.CheckRun(t, o, func(t *testing.T, w *processorstest.Harness) {
		k := &killedStore{Harness: w, t: t, rng: rand.New(rand.NewPCG(1, 2)), bytes: rand.NewChaCha8([32]byte{1})}
		for p := range k.want {
			k.want[p] = map[string]string{}
		}
		for range rounds {
			for _, moment := range killMoments() {
				d := &killDisk{FS: w.Disk("a")}
				cfg := o.Config
				cfg.FS = d
				p := w.StartWith("a", cfg, o.Processor)
				errs = append(errs, k.exact())
				d.arm(moment, p.Kill)
				k.workUntilEnd(p, moment)
				kills[moment]++
				if lose != nil {
					lose(t, w.Disk("a"))
				}
				k.countKept()
			}
		}
		w.Start("a")
		errs = append(errs, k.exact())
		kept = k.kept
	})
	for _, event := range []string{"store_damaged", "store_rebuilt"} {
		if n := strings.Count(log.String(), event); n > 0 {
			errs = append(errs, fmt.Errorf("%d times %s", n, event))
		}
	}
	return kills, kept, errors.Join(append(errs, verdict)...)
}

// workUntilEnd produces rows, and makes the store flush and compact them, until the process was
// killed.
func (k *killedStore) workUntilEnd(p *processorstest.Process, moment string) {
	k.t.Helper()
	for end := time.Now().Add(time.Minute); !p.Ended(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			k.t.Fatalf("the moment %q was not reached", moment)
		}
		for q := range k.want {
			k.produce(q)
		}
		p.Runtime().WithStore(func(s *store.Store) { _, _ = s.DB.AsyncFlush() })
	}
	if err := p.Await(); !errors.Is(err, processorstest.ErrKilled) {
		k.t.Fatalf("the process ended with %v", err)
	}
}

// produce changes some rows of a partition.
func (k *killedStore) produce(partition int) {
	for range 1 + k.rng.IntN(5) {
		key, value := fmt.Sprint("key", k.rng.IntN(200)), random(k.bytes, 500)
		if k.rng.IntN(9) == 0 {
			value = ""
			delete(k.want[partition], key)
		} else {
			k.want[partition][key] = value
		}
		k.Produce("in", int32(partition), key, value)
	}
}

// exact waits for the records that were produced and compares the state with them.
func (k *killedStore) exact() (err error) {
	k.CaughtUp()
	for p, rows := range k.want {
		got := map[string]string{}
		for key, value := range k.State(int32(p), 1) {
			got[key] = string(value)
		}
		if !maps.Equal(got, rows) {
			err = errors.Join(err, fmt.Errorf("partition %d has %d rows, want %d, or others", p, len(got), len(rows)))
		}
	}
	return err
}

// countKept counts the partitions that have positions in the store that a kill left.
func (k *killedStore) countKept() {
	s := openKilled(k.t, k.Disk("a").CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: k.rng}))
	for p := range k.want {
		meta, err := s.Meta(s.DB, int32(p))
		if err != nil {
			k.t.Error(err)
		} else if meta.Marker != nil {
			k.kept++
		}
	}
	if err := s.Close(); err != nil {
		k.t.Error(err)
	}
}

// openKilled opens the store that a kill left.
func openKilled(t *testing.T, fs vfs.FS) *store.Store {
	t.Helper()
	nop := zerolog.Nop()
	s, err := store.Open(&store.Options{FS: fs, Dir: processorstest.StateDir, Instance: "test", Log: &nop, CacheBytes: 1 << 20, MemtableBytes: 192 << 10, BallastBytes: -1}, "rows")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

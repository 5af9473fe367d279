package store

import (
	"errors"
	"io"
	"maps"
	"os"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rs/zerolog"
)

// fullDisk fails every write while full is set.
type fullDisk struct {
	vfs.FS
	full error
}

func (d *fullDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if d.full != nil {
		return nil, &os.PathError{Op: "create", Path: name, Err: d.full}
	}
	f, err := d.FS.Create(name, c)
	return fullFile{f, d}, err
}

type fullFile struct {
	vfs.File
	d *fullDisk
}

func (f fullFile) Write(p []byte) (int, error) {
	if f.d.full != nil {
		n, err := f.File.Write(p[:len(p)/2])
		return n, errors.Join(err, f.d.full)
	}
	return f.File.Write(p)
}

func contents(t *testing.T, fs vfs.FS, dir string) map[string]string {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, name := range names {
		f, err := fs.Open(dir + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(f)
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		out[name] = string(b)
	}
	return out
}

// TestDiskAbandoned: once the disk is abandoned, Pebble's changes seem to succeed, and the files on
// the disk stay as they are.
func TestDiskAbandoned(t *testing.T) {
	below := &fullDisk{FS: vfs.NewMem()}
	log := zerolog.Nop()
	if err := below.MkdirAll("d", 0o700); err != nil {
		t.Fatal(err)
	}
	d := newDisk(&Options{FS: below, Log: &log, BallastBytes: 100}, "d") // no ballast: MemFS does not report its free space
	create := func(name string, category vfs.DiskWriteCategory) vfs.File {
		t.Helper()
		f, err := d.Create(name, category)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	wal, table := create("d/1.log", "pebble-wal"), create("d/1.sst", "pebble-memtable-flush")
	for _, f := range []vfs.File{wal, table, create("d/old", "")} {
		if n, err := f.Write([]byte("before")); n != 6 || err != nil {
			t.Fatal(n, err)
		}
	}
	below.full = syscall.ENOSPC
	if n, err := wal.Write([]byte("torn")); n != 4 || err != nil {
		t.Errorf("the write to the log failed: %d, %v", n, err)
	}
	below.full = nil // there is space again: too late
	was := contents(t, below, "d")
	if want := map[string]string{"1.log": "beforeto", "1.sst": "before", "old": "before"}; !maps.Equal(was, want) {
		t.Fatalf("%q, want %q", was, want)
	}
	if err := d.err(); !errors.Is(err, ErrDiskFull) || !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	select {
	case <-d.failed:
	default:
		t.Error("failed is not closed")
	}
	if _, err := table.Write([]byte("after")); !errors.Is(err, errDropped) {
		t.Errorf("an incomplete table was written: %v", err)
	}
	if _, err := d.Create("d/9.sst", "pebble-compaction"); !errors.Is(err, errDropped) {
		t.Errorf("a compaction continues: %v", err)
	}
	made := create("d/2.sst", "pebble-memtable-flush")
	_, err := made.Write([]byte("late"))
	for _, err := range []error{
		err, wal.Sync(), wal.Close(), d.Remove("d/old"), d.Rename("d/1.log", "d/3.log"), d.MkdirAll("d/x", 0o700), d.RemoveAll("d/1.sst"), made.Sync(), made.Close(),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	if err := d.Link("d/1.log", "d/copy"); !errors.Is(err, errDropped) {
		t.Errorf("Link of an abandoned disk: %v", err)
	}
	if got := contents(t, below, "d"); !maps.Equal(got, was) {
		t.Errorf("the disk has %q, had %q", got, was)
	}
	f, err := d.Open("d/2.sst")
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(f); string(b) != "late" || err != nil {
		t.Errorf("the late table has %q, %v", b, err)
	}
}

// TestBallast: the file exists if there is space, has the configured size, and is removed when the
// disk is full.
func TestBallast(t *testing.T) {
	log := zerolog.Nop()
	mem := vfs.NewMem()
	if err := mem.MkdirAll("d", 0o700); err != nil {
		t.Fatal(err)
	}
	size := func() int64 {
		if st, err := mem.Stat("d/ballast"); err == nil {
			return st.Size()
		}
		return -1
	}
	for _, c := range []struct {
		avail      uint64
		want, have int64
	}{{5 << 20, 3 << 20, -1}, {6 << 20, 3 << 20, 3 << 20}, {0, 3 << 20, 3 << 20}, {6 << 20, 1<<20 + 1, 1<<20 + 1}, {6 << 20, -1, -1}} {
		mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: c.avail, TotalBytes: 1 << 30})
		newDisk(&Options{FS: mem, Log: &log, BallastBytes: c.want}, "d")
		if got := size(); got != c.have {
			t.Errorf("with %d bytes free and %d wanted it has %d, want %d", c.avail, c.want, got, c.have)
		}
	}
	d := newDisk(&Options{FS: mem, Log: &log, BallastBytes: 1000}, "d")
	tries := 0
	err := d.try(func() error {
		if tries++; tries == 1 {
			return syscall.ENOSPC
		}
		return nil
	})
	if err != nil || tries != 2 || size() >= 0 || d.state.Load() != diskNoSpace || !errors.Is(d.err(), ErrDiskFull) {
		t.Errorf("%v after %d tries, ballast %d, state %d, %v", err, tries, size(), d.state.Load(), d.err())
	}
	if err := d.tryOnce(func() error { return syscall.EIO }); !errors.Is(err, errDropped) || d.state.Load() != diskAbandoned {
		t.Errorf("a sync that failed: %v, state %d", err, d.state.Load())
	}
}

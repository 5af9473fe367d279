package crashfs

import (
	"fmt"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestCrashClone copies a file system while others link, lock, reuse and sync its files: no call
// waits for ever, and a copy has what was synced before it, whole.
func TestCrashClone(t *testing.T) {
	fs := New()
	kept := create(t, fs, "kept")
	if _, err := kept.Write([]byte("kept")); err != nil {
		t.Fatal(err)
	}
	persist(t, fs, kept)
	const rounds = 2000
	var wg sync.WaitGroup
	for w, work := range map[string]func(name string) error{
		"link": func(name string) error { return fs.Link("kept", name) },
		"lock": func(name string) error {
			c, err := fs.Lock(name)
			if err != nil {
				return err
			}
			return c.Close()
		},
		"reuse": func(name string) error {
			if err := fs.Link("kept", name); err != nil {
				return err
			}
			f, err := fs.ReuseForWrite(name, name+"x", "test")
			if err != nil {
				return err
			}
			return f.Close()
		},
		"sync": func(string) error { return kept.Sync() },
	} {
		wg.Go(func() {
			for i := range rounds {
				if err := work(fmt.Sprint(w, i)); err != nil {
					t.Error(w, err)
					return
				}
			}
		})
	}
	for range rounds {
		f, err := fs.CrashClone(vfs.CrashCloneCfg{}).Open("kept")
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 4)
		if _, err := f.ReadAt(got, 0); err != nil || string(got) != "kept" {
			t.Fatal(string(got), err)
		}
	}
	wg.Wait()
}

func create(t *testing.T, fs vfs.FS, name string) vfs.File {
	t.Helper()
	f, err := fs.Create(name, "test")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// persist syncs a file and the directory that names it.
func persist(t *testing.T, fs vfs.FS, f vfs.File) {
	t.Helper()
	dir, err := fs.OpenDir("")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []vfs.File{f, dir} {
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
	}
}

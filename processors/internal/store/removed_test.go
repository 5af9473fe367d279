package store

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestDirectoryRemoved: Pebble, which ends the program when it misses one of its files, survives
// the removal of all of them: writes, flushes, compactions and reads end, and the store closes.
func TestDirectoryRemoved(t *testing.T) {
	o := testOptions(vfs.Default)
	o.Dir = t.TempDir()
	s, err := Open(o, "removed")
	if err != nil {
		t.Fatal(err)
	}
	write := func() error {
		value := make([]byte, 1<<10)
		for i := range 2000 {
			if err := s.DB.Set(Key(0, 1, flipKey(i%flipKeys)), value, pebble.NoSync); err != nil {
				return err
			}
		}
		return s.DB.Flush()
	}
	for range 3 {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(o.Dir); err != nil {
		t.Fatal(err)
	}
	_ = write()
	_ = Scan(s.DB, nil, func(_, _ []byte) error { return nil })
	if err := s.AwaitFailure(t.Context()); !errors.Is(err, ErrDisk) || !strings.Contains(err.Error(), "was removed") {
		t.Errorf("the failure is %v", err)
	}
	began := time.Now()
	if err := s.Close(); !errors.Is(err, ErrDisk) {
		t.Errorf("the end of the store is %v", err)
	}
	t.Logf("the store closed in %s", time.Since(began))
}

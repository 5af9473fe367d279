package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// errDamaged means that the store's files differ from what was written. They are moved aside and
// the state is rebuilt from the changelog.
var errDamaged = errors.New("the store is damaged")

// IsDamage reports whether an error means that the files of the database are damaged.
func IsDamage(err error) bool {
	if err == nil || errors.Is(err, errDamaged) || pebble.IsCorruptionError(err) {
		return err != nil
	}
	// The comparer, the merger and the WAL directory never change: a mismatch is a flipped bit in
	// the options file.
	text := err.Error()
	return strings.Contains(text, "name from file") && strings.Contains(text, "name from options") ||
		strings.Contains(text, "WALDir changed")
}

// openError explains why the database in dir was not opened. Pebble does not mark a file that is
// missing or too short as damage: a disk has lost what it had reported as synced.
func openError(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "object size mismatch") {
		err = fmt.Errorf("%w: %w", errDamaged, err)
	}
	return fmt.Errorf("open store %s: %w", dir, err)
}

// damage holds the first damage that the store has found, during a read or in the background.
type damage struct {
	once  sync.Once
	found chan struct{}
	why   error // valid once found is closed
}

func (d *damage) report(why error) {
	d.once.Do(func() {
		d.why = fmt.Errorf("%w: %w", errDamaged, why)
		close(d.found)
	})
}

// err returns the damage found so far.
func (d *damage) err() error {
	select {
	case <-d.found:
		return d.why
	default:
		return nil
	}
}

// presenceCheck is the time between two looks whether the database still exists.
const presenceCheck = 2 * time.Second

// AwaitFailure waits for damage, a failure of the disk or the removal of the database, and returns
// it. It returns nil if ctx ends first.
func (s *Store) AwaitFailure(ctx context.Context) error {
	t := time.NewTicker(presenceCheck)
	defer t.Stop()
	for {
		select {
		case <-s.damage.found:
			return s.damage.err()
		case <-s.disk.failed:
			return s.disk.err()
		case <-ctx.Done():
			return nil
		case <-t.C:
			s.disk.check()
		}
	}
}

// DiskErr returns the failure of the disk, nil while the disk works.
func (s *Store) DiskErr() error { return s.disk.err() }

// ReportDamage records that the files are damaged: the store must not be used any longer.
func (s *Store) ReportDamage(why error) { s.damage.report(why) }

// setAside moves the damaged database to db.damaged, for inspection by an operator. It replaces an
// earlier damaged database.
func (s *Store) setAside(fs vfs.FS, dir string, why error) error {
	s.damagedDir = path.Join(dir, "db.damaged")
	s.Log.Error().AnErr("why", why).Str("moved_to", s.damagedDir).Msg("store_damaged")
	if err := fs.RemoveAll(s.damagedDir); err != nil {
		return fmt.Errorf("remove an earlier damaged store: %w", err)
	}
	if err := fs.Rename(path.Join(dir, "db"), s.damagedDir); err != nil {
		return fmt.Errorf("move the damaged store aside: %w", err)
	}
	return nil
}

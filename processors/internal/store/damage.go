package store

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// errDamaged: the store's files are not what was written. They are set aside and the state is rebuilt from the changelog.
var errDamaged = errors.New("the store is damaged")

// IsDamage reports whether an error means that the files of the database are damaged.
func IsDamage(err error) bool {
	if err == nil || errors.Is(err, errDamaged) || pebble.IsCorruptionError(err) {
		return err != nil
	}
	// The comparer, the merger and the place of the log have never been others: another name in the options' file is a flipped bit.
	text := err.Error()
	return strings.Contains(text, "name from file") && strings.Contains(text, "name from options") || strings.Contains(text, "WALDir changed")
}

// damage is what a store finds out about itself, be it while somebody reads or in its own background.
type damage struct {
	once  sync.Once
	found chan struct{}
	why   error // once found is closed
}

func (d *damage) report(why error) {
	d.once.Do(func() {
		d.why = fmt.Errorf("%w: %w", errDamaged, why)
		close(d.found)
	})
}

// err is the damage found so far.
func (d *damage) err() error {
	select {
	case <-d.found:
		return d.why
	default:
		return nil
	}
}

// AwaitFailure returns what is wrong with the store once something is; nil if ctx ends before.
func (s *Store) AwaitFailure(ctx context.Context) error {
	select {
	case <-s.damage.found:
		return s.damage.err()
	case <-s.disk.failed:
		return s.disk.err()
	case <-ctx.Done():
		return nil
	}
}

// DiskErr is why the disk is to be left, nil as long as it works.
func (s *Store) DiskErr() error { return s.disk.err() }

// ReportDamage notes that the files are not what was written: the store is not to be used any more.
func (s *Store) ReportDamage(why error) { s.damage.report(why) }

// setAside moves the database out of the way, for a person to look at. An earlier one goes.
func (s *Store) setAside(fs vfs.FS, dir string, why error) error {
	s.damagedDir = path.Join(dir, "db.damaged")
	s.Log.Error().AnErr("why", why).Str("moved_to", s.damagedDir).Msg("store_damaged")
	if err := fs.RemoveAll(s.damagedDir); err != nil {
		return fmt.Errorf("remove an earlier damaged store: %w", err)
	}
	if err := fs.Rename(path.Join(dir, "db"), s.damagedDir); err != nil {
		return fmt.Errorf("set the damaged store aside: %w", err)
	}
	return nil
}

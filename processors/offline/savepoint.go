package offline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/stream"
)

// Savepoint is a named copy of one process's store. It holds each partition as one committed
// transaction left it. Files that have not changed since are hard links, so it needs little space
// at first.
type Savepoint struct {
	Format     int             `json:"format"`
	Name       string          `json:"name"`
	App        string          `json:"app"`
	Changelog  string          `json:"changelog"`
	Created    time.Time       `json:"created"`
	Partitions []SavepointPart `json:"partitions"` // of the store, in order
}

// SavepointPart is one partition of a Savepoint.
type SavepointPart struct {
	Partition     int32                         `json:"partition"`
	Sequence      uint64                        `json:"sequence"` // of the last transaction
	OwnerEpoch    uint64                        `json:"owner_epoch"`
	Next          map[string]int64              `json:"next"` // next input offset per topic
	ChangelogNext int64                         `json:"changelog_next"`
	Tables        map[byte]processors.TableHash `json:"tables"`            // of the logged tables, by number
	Skipped       []processors.SkippedRange     `json:"skipped,omitempty"` // ranges of the inputs that are not in the state
	// Unsettled means that the state was not a function of the inputs yet, see
	// stream.Processor.Settled. Savepoints of earlier versions do not have it.
	Unsettled bool `json:"unsettled,omitempty"`
}

// Size returns the number of keys in the logged tables, and the bytes of these keys and their
// values.
func (s *Savepoint) Size() (keys, bytes int64) {
	for _, p := range s.Partitions {
		for _, sum := range p.Tables {
			keys, bytes = keys+sum.Keys, bytes+sum.Bytes
		}
	}
	return keys, bytes
}

// ErrSavepoint reports a savepoint that does not exist, exists already, or cannot be used.
var ErrSavepoint = errors.New("cannot use the savepoint")

const (
	savepointFormat = 1
	savepointFile   = "savepoint.json"
)

// TakeSavepoint takes a savepoint of the store of r while r runs, and reads it back. It returns
// processors.ErrNotRunning if r does not run.
func TakeSavepoint(ctx context.Context, r *processors.Runtime, name string) (*Savepoint, error) {
	return (&Savepoints{cfg: r.Config(), proc: r.Processor()}).take(ctx, r.Checkpoint, name)
}

// Savepoints are the savepoints of one application in one state directory.
type Savepoints struct {
	cfg  processors.Config
	proc stream.Processor
}

// NewSavepoints needs Config.Dir, and the names and Canonical of the processor.
func NewSavepoints(cfg processors.Config, proc stream.Processor) (*Savepoints, error) {
	if err := proc.Complete(); err != nil {
		return nil, err
	}
	if cfg.Dir == "" {
		return nil, fmt.Errorf("%w: Dir is empty: set the state directory", processors.ErrConfig)
	}
	cfg.SetDefaults()
	return &Savepoints{cfg: cfg, proc: proc}, nil
}

func (s *Savepoints) dir() string             { return path.Join(s.cfg.Dir, s.proc.App, "savepoints") }
func (s *Savepoints) path(name string) string { return path.Join(s.dir(), name) }
func (s *Savepoints) db() string              { return path.Join(s.cfg.Dir, s.proc.App, "db") }

// Create takes a savepoint of a store that no process uses. It returns processors.ErrLocked if one
// does.
func (s *Savepoints) Create(ctx context.Context, name string) (_ *Savepoint, err error) {
	if _, err := s.cfg.FS.Stat(s.db()); err != nil {
		return nil, fmt.Errorf("%w: %s has no state in %s: %w", ErrSavepoint, s.proc.App, s.cfg.Dir, err)
	}
	st, err := store.Open(databaseOf(&s.cfg), s.proc.App) //nolint:contextcheck // what it starts ends with close
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	return s.take(ctx, st.Checkpoint, name)
}

// take writes the checkpoint under a temporary name first, so a savepoint with its own name is
// complete.
func (s *Savepoints) take(ctx context.Context, checkpoint func(dir string) error, name string) (sp *Savepoint, err error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	fs := s.cfg.FS
	if _, err := fs.Stat(s.path(name)); err == nil {
		return nil, fmt.Errorf("%w: %s exists already: drop it, or choose another name", ErrSavepoint, name)
	}
	if err := s.checkCount(); err != nil {
		return nil, err
	}
	tmp := s.path("." + name)
	if err := fs.RemoveAll(tmp); err != nil {
		return nil, fmt.Errorf("remove an incomplete savepoint: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, fs.RemoveAll(tmp))
		}
	}()
	if err := fs.MkdirAll(tmp, 0o700); err != nil {
		return nil, fmt.Errorf("write savepoint: %w", err)
	}
	if err := checkpoint(path.Join(tmp, "db")); errors.Is(err, processors.ErrNotRunning) {
		return nil, err
	} else if err != nil {
		return nil, fmt.Errorf("write savepoint: %w", err)
	}
	sp = &Savepoint{Format: savepointFormat, Name: name, App: s.proc.App, Changelog: s.proc.Changelog, Created: time.Now().UTC()}
	if err := s.describePartitions(ctx, sp, path.Join(tmp, "db")); err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(sp, "", " ")
	if err == nil {
		err = writeFile(fs, path.Join(tmp, savepointFile), append(text, '\n'))
	}
	if err == nil {
		err = fs.Rename(tmp, s.path(name))
	}
	if err != nil {
		return nil, fmt.Errorf("write savepoint: %w", err)
	}
	return sp, syncDir(fs, s.dir())
}

// MaxSavepoints is the greatest number of savepoints of an application in one state directory. Each
// holds the files that the store had, so an unlimited number would fill the disk.
const MaxSavepoints = 100

// checkCount returns an error if there is no room for another savepoint.
func (s *Savepoints) checkCount() error {
	names, err := s.cfg.FS.List(s.dir())
	if err != nil {
		return nil //nolint:nilerr // no savepoint was ever taken
	}
	if n := len(slices.DeleteFunc(names, func(n string) bool { return strings.HasPrefix(n, ".") })); n >= MaxSavepoints {
		return fmt.Errorf("%w: %d savepoints exist, which is the maximum: drop some first", ErrSavepoint, n)
	}
	return nil
}

func checkName(name string) error {
	if !stream.ValidName(name) || name[0] == '.' {
		return fmt.Errorf("%w: %q is not a legal name: use 1 to 200 letters, digits, '.', '_' or '-', and no '.' first", ErrSavepoint, name)
	}
	return nil
}

// describePartitions adds the partitions of the database at dir to sp.
func (s *Savepoints) describePartitions(ctx context.Context, sp *Savepoint, dir string) error {
	p, err := store.OpenOffline(databaseOf(&s.cfg), s.proc.App, dir)
	if err != nil {
		return err
	}
	err = p.EachPartition(ctx, func(n int32) error {
		meta, err := p.Meta(p.DB, n)
		if err != nil || meta.Marker == nil {
			return err
		}
		part := SavepointPart{
			Partition: n, Sequence: meta.Marker.Sequence, OwnerEpoch: meta.Marker.OwnerEpoch,
			Next: changelogpb.NextOffsets(meta.Marker.Inputs), ChangelogNext: meta.ChangelogNext,
		}
		part.Skipped = processors.SkippedRanges(meta.Marker.Skips)
		settled, err := settled(&s.proc, n, getOf(p))
		if err != nil {
			return err
		}
		part.Unsettled = !settled
		part.Tables, err = hashTables(p, n, s.proc.Canonical)
		sp.Partitions = append(sp.Partitions, part)
		return err
	})
	return errors.Join(err, p.Close())
}

// Get reads the description of a savepoint.
func (s *Savepoints) Get(name string) (*Savepoint, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	f, err := s.cfg.FS.Open(path.Join(s.path(name), savepointFile))
	if err != nil {
		return nil, fmt.Errorf("%w: read %s of %s in %s: %w", ErrSavepoint, name, s.proc.App, s.cfg.Dir, err)
	}
	text, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("%w: read %s: %w", ErrSavepoint, name, err)
	}
	sp := &Savepoint{}
	if err := json.Unmarshal(text, sp); err != nil {
		return nil, fmt.Errorf("%w: the description of %s is damaged: %w: drop it", ErrSavepoint, name, err)
	}
	if sp.Format > savepointFormat {
		return nil, fmt.Errorf("%w: savepoint %s has format %d, this binary reads up to %d: run the newer binary", processors.ErrNewer,
			name, sp.Format, savepointFormat)
	}
	return sp, nil
}

// List returns all savepoints, the oldest first.
func (s *Savepoints) List() ([]Savepoint, error) {
	if _, err := s.cfg.FS.Stat(s.dir()); err != nil {
		return nil, nil //nolint:nilerr // no savepoint was ever taken
	}
	names, err := s.cfg.FS.List(s.dir())
	if err != nil {
		return nil, fmt.Errorf("list savepoints: %w", err)
	}
	var all []Savepoint
	for _, name := range names {
		if strings.HasPrefix(name, ".") {
			continue
		}
		sp, err := s.Get(name)
		if err != nil {
			return nil, err
		}
		all = append(all, *sp)
	}
	slices.SortFunc(all, func(a, b Savepoint) int { return a.Created.Compare(b.Created) })
	return all, nil
}

// Drop removes a savepoint.
func (s *Savepoints) Drop(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if _, err := s.cfg.FS.Stat(path.Join(s.path(name), "db")); err != nil {
		return fmt.Errorf("%w: %q of %s does not exist in %s", ErrSavepoint, name, s.proc.App, s.cfg.Dir)
	}
	tmp := s.path("." + name)
	err := errors.Join(s.cfg.FS.RemoveAll(tmp), s.cfg.FS.Rename(s.path(name), tmp), s.cfg.FS.RemoveAll(tmp))
	if err != nil {
		return fmt.Errorf("drop savepoint %s: %w", name, err)
	}
	return nil
}

// Restore replaces the store with a copy of a savepoint. The former store is moved to db.replaced;
// a store that is there already is removed. No process may use the directory: processors.ErrLocked.
// The next start reads the changelog from the offsets of the savepoint on. If compaction has
// removed the savepoint's last transaction from the changelog, or if the savepoint is older than
// the changelog keeps deletions, the next start rebuilds the store from the changelog instead.
func (s *Savepoints) Restore(name string) (_ *Savepoint, err error) {
	sp, err := s.Get(name)
	if err != nil {
		return nil, err
	}
	fs, dir := s.cfg.FS, path.Join(s.cfg.Dir, s.proc.App)
	lock, err := store.LockDir(fs, dir, s.cfg.Instance)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	tmp, aside := path.Join(dir, "db.restoring"), path.Join(dir, "db.replaced")
	if err := s.copyTo(name, tmp); err != nil {
		return nil, err
	}
	if _, err := fs.Stat(s.db()); err == nil {
		if err := errors.Join(fs.RemoveAll(aside), fs.Rename(s.db(), aside)); err != nil {
			return nil, fmt.Errorf("move the store aside: %w", err)
		}
	}
	if err := fs.Rename(tmp, s.db()); err != nil {
		return nil, fmt.Errorf("put savepoint %s in place: %w: the former store is in %s", name, err, aside)
	}
	return sp, syncDir(fs, dir)
}

// copyTo copies the database of a savepoint. Pebble never changes a table, so tables are hard links
// where the file system has them. It changes the other files, so these are copied.
func (s *Savepoints) copyTo(name, to string) error {
	fs, from := s.cfg.FS, path.Join(s.path(name), "db")
	if err := fs.RemoveAll(to); err != nil {
		return fmt.Errorf("copy savepoint %s: %w", name, err)
	}
	table := func(file string) bool { return strings.HasSuffix(file, ".sst") }
	for _, opts := range [][]vfs.CloneOption{
		{vfs.CloneSync, vfs.CloneTryLink, vfs.CloneSkip(func(file string) bool { return !table(file) })},
		{vfs.CloneSync, vfs.CloneSkip(table)},
	} {
		ok, err := vfs.Clone(fs, fs, from, to, opts...)
		if err == nil && !ok {
			err = fmt.Errorf("%w: %s does not exist", ErrSavepoint, from)
		}
		if err != nil {
			return fmt.Errorf("copy savepoint %s: %w", name, err)
		}
	}
	return nil
}

// databaseOf returns the options of the stores of cfg.
func databaseOf(cfg *processors.Config) *store.Options {
	return &store.Options{
		FS: cfg.FS, Dir: cfg.Dir, Instance: cfg.Instance, Log: cfg.Log,
		CacheBytes: cfg.CacheBytes, MemtableBytes: cfg.MemtableBytes, BallastBytes: cfg.BallastBytes,
	}
}

// hashTables hashes the logged tables of a partition, by number.
func hashTables(state *store.Offline, partition int32, canonical store.Canonical) (map[byte]processors.TableHash, error) {
	sums, err := store.HashTables(state.DB, partition, canonical)
	if err != nil {
		return nil, err
	}
	out := make(map[byte]processors.TableHash, len(sums))
	for table, sum := range sums {
		out[table] = processors.TableHash{Keys: sum.Keys, Bytes: sum.Bytes, Hash: processors.Digest(sum.Hash)}
	}
	return out, nil
}

func writeFile(fs vfs.FS, name string, text []byte) error {
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

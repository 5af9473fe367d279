package journal

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Journal is an open directory of entries.
type Journal struct {
	dir    string
	n      int // number of the current snapshot and log
	log    *os.File
	size   int64
	before int64 // size of the snapshot in bytes
	buf    []byte
	lock   *os.File
}

// Open opens the directory, which it creates if needed, and calls replay with each stored entry in
// order. The bytes are valid during the call. Open returns an error if another process has the
// directory open, if an entry is damaged, or if replay returns an error.
func Open(dir string, replay func(entry []byte) error) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the directory of the journal: %w", err)
	}
	j := &Journal{dir: dir}
	var err error
	if j.lock, err = lockFile(filepath.Join(dir, "lock")); err != nil {
		return nil, fmt.Errorf("the directory %s is in use: %w: stop the process that uses it, or use another directory", dir, err)
	}
	if err := j.load(replay); err != nil {
		return nil, errors.Join(fmt.Errorf("read the journal in %s: %w", dir, err), j.lock.Close())
	}
	return j, nil
}

func (j *Journal) load(replay func(entry []byte) error) error {
	names, err := os.ReadDir(j.dir)
	if err != nil {
		return err
	}
	for _, e := range names { // a snapshot gets its name when it is complete
		if n, err := strconv.Atoi(strings.TrimPrefix(e.Name(), "snapshot.")); err == nil && n > j.n {
			j.n = n
		}
	}
	if j.n > 0 {
		if j.before, err = readFile(j.path("snapshot", j.n), replay); err != nil {
			if errors.Is(err, errTorn) {
				err = fmt.Errorf("%w%s", err, remedy)
			}
			return fmt.Errorf("%s: %w", filepath.Base(j.path("snapshot", j.n)), err)
		}
	}
	if j.size, err = readFile(j.path("log", j.n), replay); err != nil && !errors.Is(err, errTorn) && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s: %w", filepath.Base(j.path("log", j.n)), err)
	}
	if j.log, err = os.OpenFile(j.path("log", j.n), os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	if err := j.log.Truncate(j.size); err != nil {
		return errors.Join(err, j.log.Close())
	}
	if _, err := j.log.Seek(j.size, 0); err != nil {
		return errors.Join(err, j.log.Close())
	}
	return j.removeOthers()
}

func readFile(name string, replay func(entry []byte) error) (size int64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	size, err = readFrames(f, replay)
	return size, errors.Join(err, f.Close())
}

// removeOthers removes the files of an unfinished Compact, and those from before the last one.
func (j *Journal) removeOthers() error {
	names, err := os.ReadDir(j.dir)
	if err != nil {
		return err
	}
	for _, e := range names {
		name := filepath.Join(j.dir, e.Name())
		ours := strings.HasPrefix(e.Name(), "snapshot.") || strings.HasPrefix(e.Name(), "log.")
		if !ours || name == j.path("log", j.n) || name == j.path("snapshot", j.n) {
			continue
		}
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

func (j *Journal) path(kind string, n int) string {
	return filepath.Join(j.dir, kind+"."+strconv.Itoa(n))
}

// Append stores the entry. After an error the journal must not be used: it is unknown whether it
// contains the entry.
func (j *Journal) Append(entry []byte) error {
	j.buf = appendFrame(j.buf[:0], entry)
	n, err := j.log.Write(j.buf)
	j.size += int64(n)
	if err != nil {
		return fmt.Errorf("append to the journal in %s: %w", j.dir, err)
	}
	return nil
}

// Grown reports whether a snapshot would make the directory much smaller.
func (j *Journal) Grown() bool { return j.size > 64<<20 && j.size > 2*j.before }

// Compact replaces all entries by those that write adds. After an error the journal must not be
// used.
func (j *Journal) Compact(write func(add func(entry []byte) error) error) error {
	tmp := filepath.Join(j.dir, "snapshot.tmp")
	if err := j.writeSnapshot(tmp, write); err != nil {
		return fmt.Errorf("write a snapshot of the journal in %s: %w", j.dir, err)
	}
	log, err := os.OpenFile(j.path("log", j.n+1), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("create a log in %s: %w", j.dir, err)
	}
	if err := os.Rename(tmp, j.path("snapshot", j.n+1)); err != nil {
		return errors.Join(fmt.Errorf("rename the snapshot in %s: %w", j.dir, err), log.Close())
	}
	err = j.log.Close()
	j.log, j.size, j.n = log, 0, j.n+1
	return errors.Join(err, j.removeOthers())
}

func (j *Journal) writeSnapshot(name string, write func(add func(entry []byte) error) error) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(f, 1<<16)
	j.before = 0
	err = write(func(entry []byte) error {
		j.buf = appendFrame(j.buf[:0], entry)
		j.before += int64(len(j.buf))
		_, err := out.Write(j.buf)
		return err
	})
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Close closes the files.
func (j *Journal) Close() error {
	return errors.Join(j.log.Sync(), j.log.Close(), j.lock.Close())
}

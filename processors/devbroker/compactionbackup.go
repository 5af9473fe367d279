package devbroker

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// compactionBackup keeps the files of partitions as hard links while kfake rewrites them. Its
// directories are:
//
//	guard.new     incomplete: removed at the next start
//	guard         complete: restored at the next start
//	guard.old     no longer needed: removed at the next start
type compactionBackup struct{ dir string }

const (
	backupNew     = "guard.new"
	backupCurrent = "guard"
	backupOld     = "guard.old"
)

// backUp links the files of topics. Nothing may write to them during the call. Without a data
// directory it returns nil.
func (b *Broker) backUp(topics []string) (*compactionBackup, error) {
	if b.cfg.DataDir == "" {
		return nil, nil
	}
	g := &compactionBackup{b.cfg.DataDir}
	for _, name := range []string{backupNew, backupOld} {
		if err := os.RemoveAll(filepath.Join(g.dir, name)); err != nil {
			return nil, err
		}
	}
	parts, err := os.ReadDir(filepath.Join(b.kafkaDir(), "partitions"))
	if err != nil {
		return nil, err
	}
	for _, topic := range topics {
		for _, p := range parts {
			name := p.Name()
			if cut := strings.LastIndexByte(name, '-'); cut < 0 || name[:cut] != url.PathEscape(topic) {
				continue
			}
			if err := linkSegments(filepath.Join(b.kafkaDir(), "partitions", name), filepath.Join(g.dir, backupNew, name)); err != nil {
				return nil, err
			}
		}
	}
	return g, os.Rename(filepath.Join(g.dir, backupNew), filepath.Join(g.dir, backupCurrent))
}

// release ends the backup after kfake has written the new files.
func (g *compactionBackup) release() error {
	if g == nil {
		return nil
	}
	if err := os.Rename(filepath.Join(g.dir, backupCurrent), filepath.Join(g.dir, backupOld)); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(g.dir, backupOld))
}

// restoreBackup restores the files of a backup that was not released: the broker was killed during
// a compaction.
func restoreBackup(dir string) error {
	for _, name := range []string{backupNew, backupOld} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	backup := filepath.Join(dir, backupCurrent)
	parts, err := os.ReadDir(backup)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, p := range parts {
		to := filepath.Join(dir, "kafka", "partitions", p.Name())
		files, err := segmentFiles(to)
		if err != nil {
			return err
		}
		for _, f := range files {
			if err := os.Remove(filepath.Join(to, f)); err != nil {
				return err
			}
		}
		if err := linkSegments(filepath.Join(backup, p.Name()), to); err != nil {
			return err
		}
	}
	return os.RemoveAll(backup) // a second run after a kill does the same
}

func linkSegments(from, to string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	files, err := segmentFiles(from)
	for _, f := range files {
		err = errors.Join(err, os.Link(filepath.Join(from, f), filepath.Join(to, f)))
	}
	return err
}

func segmentFiles(dir string) ([]string, error) {
	all, err := os.ReadDir(dir)
	var out []string
	for _, f := range all {
		if ext := filepath.Ext(f.Name()); ext == ".dat" || ext == ".idx" {
			out = append(out, f.Name())
		}
	}
	return out, err
}

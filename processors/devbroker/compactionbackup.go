package devbroker

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// compactionBackup keeps the files of partitions, as hard links, while the broker rewrites them.
//
//	guard.new     being filled: worth nothing
//	guard         whole: what it holds is the truth, until it is renamed away
//	guard.old     done with
type compactionBackup struct{ dir string }

const (
	backupNew     = "guard.new"
	backupCurrent = "guard"
	backupOld     = "guard.old"
)

// backUp links the files of topics. It must be called when nothing is written to them. Without a data directory there is
// nothing to keep.
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

// release says that the new files are whole.
func (g *compactionBackup) release() error {
	if g == nil {
		return nil
	}
	if err := os.Rename(filepath.Join(g.dir, backupCurrent), filepath.Join(g.dir, backupOld)); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(g.dir, backupOld))
}

// restoreBackup puts back the files of a guard that was not released: the broker died while it rewrote them.
func restoreBackup(dir string) error {
	for _, name := range []string{backupNew, backupOld} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	hold := filepath.Join(dir, backupCurrent)
	parts, err := os.ReadDir(hold)
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
		if err := linkSegments(filepath.Join(hold, p.Name()), to); err != nil {
			return err
		}
	}
	return os.RemoveAll(hold) // done a second time, if we die in it, it does the same
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

package kafkaadmin

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// disk looks at the state directory, or where it will be made.
func (d *doctor) disk() {
	dir, made := d.StateDir, true
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		made = false
		for ; errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir; info, err = os.Stat(dir) {
			dir = filepath.Dir(dir)
		}
	}
	if err != nil || !info.IsDir() {
		d.bad("state directory", Error, fmt.Sprintf("%s cannot be used: %v", dir, orFile(err)), "set data_dir to a directory on a disk of this machine")
		return
	}
	if err := writable(dir); err != nil {
		d.bad("state directory", Error, fmt.Sprintf("%s cannot be written: %v", dir, err), "give it to the user that runs weir: chown, chmod 0700")
	} else if made {
		mode := info.Mode().Perm()
		d.judge(mode&0o077 == 0, Check{
			Name: "state directory", Severity: Warning, Detail: fmt.Sprintf("%s can be written, mode %#o", dir, mode),
			Remedy: fmt.Sprintf("chmod 0700 %s: others can read what campaigns spend", dir),
		})
	} else {
		d.good("state directory", "%s does not exist yet and can be made", d.StateDir)
	}
	d.space(dir)
	if made && d.Processor.App != "" {
		d.lock(filepath.Join(d.StateDir, d.Processor.App))
	}
}

func orFile(err error) error {
	if err == nil {
		return errors.New("it is not a directory")
	}
	return err
}

func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".weir-doctor-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString("weir doctor\n")
	return errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
}

func (d *doctor) space(dir string) {
	s, err := statDisk(dir)
	if err != nil {
		d.bad("disk space", Warning, fmt.Sprintf("cannot be told for %s: %v", dir, err), "see df")
		return
	}
	d.judge(s.freeBytes >= d.MinFree, Check{
		Name: "disk space", Severity: Error, Detail: fmt.Sprintf("%s free of %s at %s, wanted %s", size(s.freeBytes), size(s.bytes), dir, size(d.MinFree)),
		Remedy: "make room, or set data_dir to another disk: a full one stops the process",
	})
	if s.inodes > 0 { // some file systems have no limit
		d.judge(s.freeInodes >= 10_000, Check{Name: "inodes", Severity: Warning, Detail: fmt.Sprintf("%d free of %d", s.freeInodes, s.inodes), Remedy: "remove small files: a disk without inodes takes no new ones"})
	}
}

// diskStat is what a file system has left for us.
type diskStat struct{ bytes, freeBytes, inodes, freeInodes uint64 }

func size(n uint64) string {
	for _, u := range []struct {
		name string
		unit uint64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.unit {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(u.unit), u.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}

// lock tells who holds the application's store, by what the holder wrote beside it and by asking the kernel.
func (d *doctor) lock(dir string) {
	who := "a process that left no name"
	if f, err := os.Open(filepath.Join(dir, "holder")); err == nil {
		b, _ := io.ReadAll(io.LimitReader(f, 256))
		_ = f.Close()
		who = strings.TrimSpace(string(b))
	}
	// The kernel drops a process's locks on a file when it closes any descriptor of it: our own is not to be touched.
	if strings.Contains(who, fmt.Sprintf("process %d,", os.Getpid())) {
		d.good("state lock", "held by this process: %s", who)
		return
	}
	pid, err := lockHolder(filepath.Join(dir, "LOCK"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.good("state lock", "free: nothing has run here yet")
	case err != nil:
		d.bad("state lock", Warning, fmt.Sprintf("cannot be told: %v", err), "")
	case pid == 0:
		d.good("state lock", "free; last held by %s", who)
	default:
		d.good("state lock", "held by process %d (%s): fine if that is the weir you mean; another needs its own data_dir", pid, who)
	}
}

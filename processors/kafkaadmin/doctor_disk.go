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

// disk checks the state directory, or its nearest existing parent.
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
		d.bad("state directory", Error, fmt.Sprintf("%s cannot be used: %v", dir, orFile(err)),
			fmt.Sprintf("set %s to a directory on a disk of this machine", d.Defaults.Names.StateDir))
		return
	}
	if err := writable(dir); err != nil {
		d.bad("state directory", Error, fmt.Sprintf("%s is not writable: %v", dir, err),
			"make the user that runs the process its owner: chown, chmod 0700")
	} else if made {
		mode := info.Mode().Perm()
		d.addCheck(mode&0o077 == 0, Check{
			Name: "state directory", Severity: Warning, Detail: fmt.Sprintf("%s is writable, mode %#o", dir, mode),
			Remedy: fmt.Sprintf("chmod 0700 %s: other users can read the state", dir),
		})
	} else {
		d.good("state directory", "%s does not exist yet and can be created", d.StateDir)
	}
	d.space(dir)
	if !made {
		return
	}
	for _, app := range d.Apps {
		d.lock(app, filepath.Join(d.StateDir, app))
	}
}

func orFile(err error) error {
	if err == nil {
		return errors.New("not a directory")
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
		d.bad("disk space", Warning, fmt.Sprintf("not known for %s: %v", dir, err), "see df")
		return
	}
	d.addCheck(s.freeBytes >= d.MinFree, Check{
		Name: "disk space", Severity: Error,
		Detail: fmt.Sprintf("%s free of %s at %s, wanted %s", size(s.freeBytes), size(s.bytes), dir, size(d.MinFree)),
		Remedy: fmt.Sprintf("free space, or set %s to a directory on another disk: a full disk stops the process",
			d.Defaults.Names.StateDir),
	})
	if s.inodes > 0 { // some file systems have no limit
		d.addCheck(s.freeInodes >= 10_000,
			Check{
				Name: "inodes", Severity: Warning, Detail: fmt.Sprintf("%d free of %d", s.freeInodes, s.inodes),
				Remedy: "remove small files: without inodes no file can be created",
			})
	}
}

// diskStat is the size and the free space of a file system.
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

// lock reports which process has locked the application's store, from the file beside the lock and
// from the kernel.
func (d *doctor) lock(app, dir string) {
	name := "state lock of " + app
	who := "an unknown process"
	if f, err := os.Open(filepath.Join(dir, "holder")); err == nil {
		b, _ := io.ReadAll(io.LimitReader(f, 256))
		_ = f.Close()
		who = strings.TrimSpace(string(b))
	}
	// The kernel releases all locks of a process on a file when the process closes any descriptor
	// of that file. So a lock of this process must not be examined.
	if strings.Contains(who, fmt.Sprintf("process %d,", os.Getpid())) {
		d.good(name, "held by this process: %s", who)
		return
	}
	pid, err := lockHolder(filepath.Join(dir, "LOCK"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.good(name, "free: nothing has run here yet")
	case err != nil:
		d.bad(name, Warning, fmt.Sprintf("not known: %v", err), "")
	case pid == 0:
		d.good(name, "free; last held by %s", who)
	default:
		d.good(name, "held by process %d (%s): another process needs its own %s", pid, who, d.Defaults.Names.StateDir)
	}
}

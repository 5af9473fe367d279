package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestDiskFull runs a process on a file system of 16 MiB (48 in a soak) until its load has filled
// it, on a larger one until another program has filled it, and on one with space. The process exits
// with 74 and a remedy, its partitions move, and nothing is lost.
func TestDiskFull(t *testing.T) {
	c := shared(t)
	f := follow(c)
	a := newInstance(c, "a", fmt.Sprintf("memory: %dMiB", soak(128, 512))) // small memtables, so that it writes to the disk soon
	dir := filepath.Join(filepath.Dir(a.config), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	mountTmpfs(t, dir, fmt.Sprintf("size=%dm", soak(16, 48)))
	l := startLoad(c, 11, soak[int64](30_000, 45_000), soak[int64](200_000, 400_000))

	p := a.start()
	p.full(`"ballast_freed":false`)
	if owned := len(f.owned(a.name)); owned == 0 {
		t.Error("the disk was full before anything was folded")
	}

	mountTmpfs(t, dir, fmt.Sprintf("remount,size=%dm", soak(300, 400)))
	p = a.start()
	p.ready()
	filler := filepath.Join(dir, "filler")
	out, err := exec.CommandContext(t.Context(), "dd", "if=/dev/zero", "of="+filler, "bs=1M").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "No space left") {
		t.Fatalf("the disk is not full: %s", out)
	}
	p.full(`"ballast_freed":true`)

	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	p = a.start()
	p.ready()
	f.check(c, l.finish(), 0)
	if strings.Contains(tail(a.log, 1<<20), "store_rebuilt") {
		t.Error("a store was rebuilt after a full disk")
	}
	for _, text := range []string{"panic:", "store_damaged", "store_fatal"} {
		if strings.Contains(tail(a.log, 1<<20), text) {
			t.Errorf("the log has %q", text)
		}
	}
}

// full waits for the exit of a process whose disk is full.
func (p *process) full(how string) {
	p.t.Helper()
	if code := p.exit(); code != 74 {
		p.t.Fatalf("exit code %d", code)
	}
	for _, want := range []string{how, "weir: the disk of the state directory is full", "\n  why: ", "no space left on device", "\n  do:  free space there"} {
		if !strings.Contains(p.output(), want) {
			p.t.Errorf("the output lacks %q:\n%s", want, tail(p.log, 20))
		}
	}
}

// mountTmpfs mounts a memory file system at dir, or changes its size.
func mountTmpfs(t *testing.T, dir, options string) {
	t.Helper()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("mounting a file system needs Linux and root")
	}
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", options, "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("cannot mount a file system: %v: %s", err, out)
	}
	if !strings.Contains(options, "remount") {
		t.Cleanup(func() {
			if out, err := exec.Command("umount", "--lazy", dir).CombinedOutput(); err != nil {
				t.Errorf("%s stays mounted: %v: %s", dir, err, out)
			}
		})
	}
}

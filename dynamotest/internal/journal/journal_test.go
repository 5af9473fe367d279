package journal

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// collect opens the directory and returns its entries.
func collect(dir string) (*Journal, []string, error) {
	var got []string
	j, err := Open(dir, func(entry []byte) error { got = append(got, string(entry)); return nil })
	return j, got, err
}

func write(t *testing.T, j *Journal, entries ...string) {
	t.Helper()
	for _, e := range entries {
		if err := j.Append([]byte(e)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEntriesComeBack(t *testing.T) {
	dir := t.TempDir()
	j, got, err := collect(dir)
	if err != nil || got != nil {
		t.Fatal(got, err)
	}
	write(t, j, "a", "", strings.Repeat("b", 200_000))
	if _, _, err := collect(dir); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
		t.Fatalf("a second opening: %v", err)
	}
	if err := j.Compact(func(add func([]byte) error) error { return add([]byte("all")) }); err != nil {
		t.Fatal(err)
	}
	write(t, j, "c")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j, got, err = collect(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if diff := cmp.Diff([]string{"all", "c"}, got); diff != "" {
		t.Fatal(diff)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) != 3 {
		t.Fatal(files)
	}
}

// TestEveryPrefixOpens: a process can be killed after each byte. Open returns a prefix of the
// entries, and the journal continues after it.
func TestEveryPrefixOpens(t *testing.T) {
	dir := t.TempDir()
	j, _, err := collect(dir)
	if err != nil {
		t.Fatal(err)
	}
	entries := []string{"first", "", "third, which is longer", "4"}
	write(t, j, entries...)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, "log.0"))
	if err != nil {
		t.Fatal(err)
	}
	var ends []int // of entries
	for at, i := 0, 0; i < len(entries); i++ {
		at += headerSize + len(entries[i])
		ends = append(ends, at)
	}
	for n := range len(whole) + 1 {
		want := 0
		for want < len(ends) && ends[want] <= n {
			want++
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "log.0"), whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		j, got, err := collect(dir)
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		write(t, j, "new")
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(append([]string(nil), entries[:want]...), got); diff != "" {
			t.Fatalf("%d bytes: %s", n, diff)
		}
		j, got, err = collect(dir)
		if err != nil || len(got) != want+1 || got[want] != "new" {
			t.Fatalf("%d bytes, after a new entry: %q, %v", n, got, err)
		}
		j.Close()
	}
}

// TestEveryFlippedByteIsFound: damage that a kill does not cause is an error, at every byte.
func TestEveryFlippedByteIsFound(t *testing.T) {
	var whole []byte
	for _, e := range []string{"first", "second"} {
		whole = appendFrame(whole, []byte(e))
	}
	for n := range whole {
		bad := bytes.Clone(whole)
		bad[n] ^= 0x10
		if _, err := readFrames(bytes.NewReader(bad), func([]byte) error { return nil }); err == nil || err == errTorn {
			t.Fatalf("byte %d: %v", n, err)
		}
	}
}

// TestUnfinishedSnapshot: Open ignores a snapshot that was not finished.
func TestUnfinishedSnapshot(t *testing.T) {
	dir := t.TempDir()
	j, _, err := collect(dir)
	if err != nil {
		t.Fatal(err)
	}
	write(t, j, "a")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"snapshot.tmp": "half", "log.1": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	j, got, err := collect(dir)
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	j.Close()
}

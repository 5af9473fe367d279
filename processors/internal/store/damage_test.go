package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirhq/weir/processors/internal/store/storetest"
	"github.com/weirhq/weir/processors/processorstest/crashfs"
)

const flipKeys = 1000

// filled returns the files of a store of n batches: batch i sets one key, and the meta, to i.
func filled(t *testing.T, n int) *crashfs.FS {
	t.Helper()
	fs := crashfs.New()
	s, err := Open(testOptions(fs), "flips")
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		b := s.DB.NewBatch()
		v := binary.BigEndian.AppendUint64(nil, uint64(i))
		err := errors.Join(b.Set(Key(0, 1, flipKey(i%flipKeys)), append(v, make([]byte, 500)...), nil), b.Set(metaKey(0), v, nil), b.Commit(pebble.NoSync))
		if i == n-1 {
			err = errors.Join(err, s.DB.LogData(nil, pebble.Sync)) // sync the whole log
		}
		if err == nil && i%(n/4) == n/8 {
			err = s.DB.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// As after a crash: only the log has the last batches.
	left := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return left
}

// TestFlippedBytes changes a byte at 200 places of a store. A later read returns either the exact
// state after some batch, or an error that reports damage, on which the runtime moves the store
// aside.
func TestFlippedBytes(t *testing.T) {
	const n = 2000
	whole := filled(t, n)
	base, err := readFlips(whole.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(0, 0))}))
	if err != nil || base != n-1 {
		t.Fatalf("the undamaged store ends with batch %d of %d, %v", base, n, err)
	}
	seen, seeds := map[string]int{}, uint64(200)
	if testing.Short() {
		seeds = 30
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 3))
		fs := whole.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rng})
		where := storetest.FlipByte(t, fs, "/state/flips/db", rng)
		kind := strings.TrimLeft(path.Ext(strings.Split(where, "@")[0])+where[:3], ".0123456789")
		last, err := readFlips(fs)
		switch {
		case err == nil && last == base:
			seen[kind+" harmless"]++
		case err == nil:
			seen[kind+" behind"]++
		case IsDamage(err):
			seen[kind+" damaged"]++
		default:
			t.Errorf("seed %d, %s: %v", seed, where, err)
		}
	}
	t.Log(seen)
}

// readFlips opens the store and checks that it equals the state after batch last.
func readFlips(fs vfs.FS) (last int, err error) {
	s, err := Open(testOptions(fs), "flips")
	if err != nil {
		return 0, err
	}
	defer func() { _ = s.Close() }()
	if s.damagedDir != "" {
		return 0, errDamaged
	}
	v, err := Get(s.DB, metaKey(0))
	if err != nil {
		return 0, err
	}
	if v == nil {
		return -1, nil
	}
	last = int(binary.BigEndian.Uint64(v))
	for k := range min(flipKeys, last+1) {
		v, err := Get(s.DB, Key(0, 1, flipKey(k)))
		if err != nil {
			return 0, err
		}
		if want := last - (last-k)%flipKeys; v == nil || int(binary.BigEndian.Uint64(v)) != want {
			return 0, fmt.Errorf("key %d is %x, want %d: batch %d", k, v, want, last)
		}
	}
	return last, nil
}

func flipKey(k int) []byte { return binary.BigEndian.AppendUint16(nil, uint16(k)) }

// TestIncompleteFiles: a file that is shorter than what was written, or that is missing, is damage.
func TestIncompleteFiles(t *testing.T) {
	whole := filled(t, 2000)
	shorten := func(fs *crashfs.FS, name string) error {
		f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
		if err != nil {
			return err
		}
		_, err = f.Write(make([]byte, 1<<10))
		return errors.Join(err, f.Close())
	}
	for name, damage := range map[string]struct {
		file string // the first letters or the end of its name
		do   func(fs *crashfs.FS, name string) error
	}{
		"short table":      {".sst", shorten},
		"missing table":    {".sst", (*crashfs.FS).Remove},
		"missing manifest": {"MANIFEST", (*crashfs.FS).Remove},
	} {
		t.Run(name, func(t *testing.T) {
			fs := whole.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(0, 0))})
			names, err := fs.List("/state/flips/db")
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range names {
				if strings.HasPrefix(n, damage.file) || path.Ext(n) == damage.file {
					if err := damage.do(fs, path.Join("/state/flips/db", n)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if _, err := readFlips(fs); !IsDamage(err) {
				t.Errorf("the store was opened with %v", err)
			}
		})
	}
}

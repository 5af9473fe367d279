package state

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/weirhq/weir/stream"
)

func numbers() *Table[string, int] {
	return NewTable(1, String{}, Func[int]{
		AppendFunc: func(dst []byte, v int) []byte { return strconv.AppendInt(dst, int64(v), 10) },
		DecodeFunc: func(value []byte) (int, error) { return strconv.Atoi(string(value)) },
	})
}

// TestCacheAgainstMap compares a Cache with a map in random sequences of Put, Delete, Prefetch and
// Flush.
func TestCacheAgainstMap(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		committed, want := map[string]string{}, map[string]int{}
		table := NewCache(numbers(), func(_ byte, key []byte) ([]byte, error) {
			if v, ok := committed[string(key)]; ok {
				return []byte(v), nil
			}
			return nil, nil
		})
		for range 400 {
			key := fmt.Sprint("k", rng.IntN(12))
			switch rng.IntN(6) {
			case 0, 1:
				want[key] = rng.IntN(1000)
				table.Put(key, want[key])
			case 2:
				delete(want, key)
				table.Delete(key)
			case 3:
				if err := table.Prefetch([]string{key, "k3", "k1", key}); err != nil {
					t.Fatal(err)
				}
			case 4:
				var ch stream.Changes
				n := table.Len()
				table.Flush(&ch)
				if len(ch.List) != n || table.Len() != 0 {
					t.Fatalf("%d changes of %d rows", len(ch.List), n)
				}
				for i, c := range ch.List {
					if i > 0 && string(ch.List[i-1].Key) >= string(c.Key) {
						t.Fatal("keys out of order")
					}
					delete(committed, string(c.Key))
					if c.Op == stream.OpPut {
						committed[string(c.Key)] = string(c.Value)
					}
				}
			}
			v, ok, err := table.Get(key)
			if w, has := want[key]; err != nil || ok != has || ok && v != w {
				t.Fatalf("seed %d: %s is %d, %t, %v; want %d, %t", seed, key, v, ok, err, w, has)
			}
		}
	}
}

func TestCacheErrors(t *testing.T) {
	broken := errors.New("broken")
	table := NewCache(numbers(), func(_ byte, key []byte) ([]byte, error) {
		if string(key) == "bad" {
			return nil, broken
		}
		return []byte("no number"), nil
	})
	if _, _, err := table.Get("bad"); !errors.Is(err, broken) {
		t.Error(err)
	}
	if err := table.Prefetch([]string{"bad"}); !errors.Is(err, broken) {
		t.Error(err)
	}
	if _, _, err := table.Get("x"); !errors.Is(err, strconv.ErrSyntax) {
		t.Error(err)
	}
}

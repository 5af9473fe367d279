// Package seeds runs simulations by seed. Environment variables have the first seed and their
// number.
package seeds

import (
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// Number returns the number in an environment variable, or otherwise if it is not set.
func Number(t testing.TB, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%s: not a number of 0 or more", name, text)
	}
	return n
}

// Run calls run for the seeds from first on, as many as the list is to have, on all CPUs. After a
// run has failed it begins no more of them: the list has zero values for those that are left out.
func Run[T any](first, many uint64, run func(seed uint64) (result T, failed bool)) []T {
	list := make([]T, many)
	var next atomic.Uint64
	var failed atomic.Bool
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < many && !failed.Load(); i = next.Add(1) - 1 {
				result, bad := run(first + i)
				if list[i] = result; bad {
					failed.Store(true)
				}
			}
		})
	}
	workers.Wait()
	return list
}

package main

import (
	"sync"

	"github.com/lovoo/goka/storage"
	"github.com/syndtr/goleveldb/leveldb/opt"

	"github.com/weirhq/weir/bench/peers/totals"
	"github.com/weirhq/weir/events"
)

// tables holds the storages that goka opens, one for each partition, to read them at the end.
type tables struct {
	mu   sync.Mutex
	list []storage.Storage
}

// builder returns a builder of LevelDB storages below dir. Their caches have 256 MiB in total, as
// those of the Kafka Streams program.
func (t *tables) builder(dir string) storage.Builder {
	build := storage.BuilderWithOptions(dir, &opt.Options{
		BlockCacheCapacity: 256 << 20 / events.DefaultShards,
		WriteBuffer:        16 << 20,
	})
	return func(topic string, partition int32) (storage.Storage, error) {
		s, err := build(topic, partition)
		if err == nil {
			t.mu.Lock()
			t.list = append(t.list, s)
			t.mu.Unlock()
		}
		return s, err
	}
}

// totals reads all storages, which must be open.
func (t *tables) totals() (sum totals.Totals, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.list {
		if err := add(&sum, s); err != nil {
			return sum, err
		}
	}
	return sum, nil
}

func add(sum *totals.Totals, s storage.Storage) error {
	it, err := s.Iterator()
	if err != nil {
		return err
	}
	defer it.Release()
	for it.Next() {
		value, err := it.Value()
		if err != nil {
			return err
		}
		if err := sum.Add(it.Key(), value); err != nil {
			return err
		}
	}
	return it.Err()
}

package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/stream"
)

// Offline is a database that no processor uses: a savepoint, a store of a stopped process, or a
// copy of a changelog.
type Offline struct {
	DB    *pebble.DB
	cache *pebble.Cache
	app   string
}

// OpenOffline opens a database for reading.
func OpenOffline(o *Options, app, dir string) (*Offline, error) {
	if err := checkManifest(o.FS, dir); err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	p := &Offline{app: app, cache: pebble.NewCache(o.CacheBytes)}
	var err error
	p.DB, err = pebble.Open(dir,
		&pebble.Options{FS: o.FS, Cache: p.cache, Logger: pebbleLog{*o.Log}, ReadOnly: true, ErrorIfNotExists: true})
	if err != nil {
		p.cache.Unref()
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	return p, nil
}

// CreateOffline creates an empty database in dir and removes what was there.
func CreateOffline(o *Options, app, dir string) (*Offline, error) {
	if err := errors.Join(o.FS.RemoveAll(dir), o.FS.MkdirAll(dir, 0o700)); err != nil {
		return nil, fmt.Errorf("create %s: %w", dir, err)
	}
	p := &Offline{app: app, cache: pebble.NewCache(o.CacheBytes)}
	var err error
	// Without a log: after a crash the database is created again.
	p.DB, err = pebble.Open(dir,
		&pebble.Options{FS: o.FS, Cache: p.cache, Logger: pebbleLog{*o.Log}, FormatMajorVersion: pebble.FormatNewest, DisableWAL: true})
	if err != nil {
		p.cache.Unref()
		return nil, fmt.Errorf("create %s: %w", dir, err)
	}
	return p, nil
}

// Close closes the database and releases its directory.
func (p *Offline) Close() error {
	err := p.DB.Close()
	p.cache.Unref()
	return err
}

// Meta reads the positions of partition n. The zero meta means that there are none.
func (p *Offline) Meta(r pebble.Reader, n int32) (*changelogpb.TaskMeta, error) {
	return (&Store{App: p.app}).Meta(r, n)
}

// EachPartition calls fn with the number of every partition that has a key, in order.
func EachPartition(ctx context.Context, r pebble.Reader, fn func(n int32) error) (err error) {
	it, err := r.NewIter(nil)
	if err != nil {
		return fmt.Errorf("read partitions: %w", err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := int32(binary.BigEndian.Uint16(it.Key()))
		if err := fn(n); err != nil {
			return err
		}
		next := stream.PrefixEnd([]byte{byte(n >> 8), byte(n)})
		ok = next != nil && it.SeekGE(next)
	}
	return it.Error()
}

// EachPartition calls fn with the number of every partition that has a key, in order.
func (p *Offline) EachPartition(ctx context.Context, fn func(n int32) error) error {
	return EachPartition(ctx, p.DB, fn)
}

// Metas returns the positions of all partitions that have a marker. It returns nil for a nil p.
func (p *Offline) Metas(ctx context.Context) (map[int32]*changelogpb.TaskMeta, error) {
	if p == nil {
		return nil, nil
	}
	out := map[int32]*changelogpb.TaskMeta{}
	err := p.EachPartition(ctx, func(n int32) error {
		m, err := p.Meta(p.DB, n)
		if err == nil && m.Marker != nil {
			out[n] = m
		}
		return err
	})
	return out, err
}

// Records returns the logged rows of a partition as changelog records.
func (p *Offline) Records(n int32) RecordSource {
	return func(send func(key, value []byte) error) (err error) {
		it, err := NewLoggedIter(p.DB, n)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, it.Close()) }()
		for it.First(); it.Valid(); it.Next() {
			if err := send(it.Key()[2:], it.Value()); err != nil {
				return err
			}
		}
		return it.Error()
	}
}

// RecordSource calls send with the key and value of each changelog record. A nil value is a
// deletion.
type RecordSource func(send func(key, value []byte) error) error

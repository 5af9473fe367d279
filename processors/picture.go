package processors

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirhq/weir/processors/changelogpb"
)

// picture is a database that nobody works on: a savepoint, a stopped store, a copy of a changelog.
type picture struct {
	db    *pebble.DB
	cache *pebble.Cache
	app   string
}

// openPicture opens a database to read it.
func openPicture(o *storeOptions, app, dir string) (*picture, error) {
	if err := checkManifest(o.FS, dir); err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	p := &picture{app: app, cache: pebble.NewCache(o.CacheBytes)}
	var err error
	p.db, err = pebble.Open(dir, &pebble.Options{FS: o.FS, Cache: p.cache, Logger: pebbleLog{*o.Log}, ReadOnly: true, ErrorIfNotExists: true})
	if err != nil {
		p.cache.Unref()
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	return p, nil
}

// newPicture makes an empty database to write to, in the place of whatever was at dir.
func newPicture(o *storeOptions, app, dir string) (*picture, error) {
	if err := errors.Join(o.FS.RemoveAll(dir), o.FS.MkdirAll(dir, 0o700)); err != nil {
		return nil, fmt.Errorf("make %s: %w", dir, err)
	}
	p := &picture{app: app, cache: pebble.NewCache(o.CacheBytes)}
	var err error
	// It is made anew whenever it is needed: it needs no log.
	p.db, err = pebble.Open(dir, &pebble.Options{FS: o.FS, Cache: p.cache, Logger: pebbleLog{*o.Log}, FormatMajorVersion: pebble.FormatNewest, DisableWAL: true})
	if err != nil {
		p.cache.Unref()
		return nil, fmt.Errorf("make %s: %w", dir, err)
	}
	return p, nil
}

func (p *picture) close() error {
	err := p.db.Close()
	p.cache.Unref()
	return err
}

func (p *picture) meta(r pebble.Reader, n int32) (*changelogpb.TaskMeta, error) {
	return (&store{app: p.app}).meta(r, n)
}

// each calls fn with every partition that has a key, in order.
func (p *picture) each(ctx context.Context, fn func(n int32) error) (err error) {
	it, err := p.db.NewIter(nil)
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
		next := prefixEnd([]byte{byte(n >> 8), byte(n)})
		ok = next != nil && it.SeekGE(next)
	}
	return it.Error()
}

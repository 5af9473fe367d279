package dynamotest

import (
	"maps"
	"slices"

	"github.com/weirhq/weir/dynamotest/internal/table"
)

func sortedKeys[V any](of map[string]V) []string { return slices.Sorted(maps.Keys(of)) }

// compact replaces the entries of the journal by a snapshot once the journal has grown enough.
func (c *Cloud) compact() {
	if c.journal == nil || c.failed != nil || !c.journal.Grown() {
		return
	}
	if err := c.journal.Compact(c.snapshot); err != nil {
		c.failed = err
	}
}

// snapshot adds the entries of the current state.
func (c *Cloud) snapshot(add func(text []byte) error) error {
	for _, r := range c.regions {
		w := snapshotWriter{region: r, add: add}
		for _, s := range r.current() {
			w.stream(s)
		}
		for _, name := range sortedKeys(r.tables) {
			w.table(r.tables[name])
		}
		if w.err != nil {
			return w.err
		}
	}
	return nil
}

// snapshotWriter writes the entries of a region, until the first error.
type snapshotWriter struct {
	region *Region
	add    func(text []byte) error
	err    error
}

func (w *snapshotWriter) write(e entry) {
	if w.err != nil {
		return
	}
	e.Region, e.Now = w.region.name, w.region.cloud.now
	var text []byte
	if text, w.err = e.encode(); w.err == nil {
		w.err = w.add(text)
	}
}

func (w *snapshotWriter) stream(s *liveStream) {
	now := w.region.cloud.now
	w.write(entry{Kind: entryStream, Table: s.table, Stream: &storedStream{s.label, s.view, s.schema, s.began, s.State(now)}})
	for _, sh := range s.Shards(now) {
		for _, r := range sh.Records() {
			w.write(entry{Kind: entryRecord, Table: s.table, Shard: sh.ID, Record: r, keys: r.Keys, item: r.New, old: r.Old})
		}
	}
}

func (w *snapshotWriter) table(t *liveTable) {
	name := t.def.TableName
	w.write(entry{Kind: entryDefine, Table: name, Definition: t.def})
	for _, row := range t.rows.Ascend(table.Span{}) {
		w.write(entry{Kind: entryRow, Table: name, Stamp: row.Stamp, item: row.Item})
	}
	for _, key := range sortedKeys(t.tombstones) {
		w.write(entry{Kind: entryTombstone, Table: name, Stamp: t.tombstones[key], Key: []byte(key)})
	}
}

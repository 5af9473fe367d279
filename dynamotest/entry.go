package dynamotest

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/jsonscan"
	"github.com/weirhq/weir/dynamotest/internal/stream"
	"github.com/weirhq/weir/dynamotest/internal/table"
)

// Kinds of journal entries. The first three are written when something changes, the others only
// into snapshots.
const (
	entryDefine    = "define" // a table has this definition
	entryDrop      = "drop"   // a table was deleted
	entryChange    = "change" // an item was written or deleted; indexes and the stream follow
	entryStream    = "stream" // a stream without its records
	entryRecord    = "record" // a record of the stream before it
	entryRow       = "row"    // an item of a table
	entryTombstone = "grave"  // the tombstone of a deleted item
)

// entry is an entry of the journal. Its JSON contains the members that its kind needs.
type entry struct {
	Kind, Region, Table string
	Now                 int64             // nanoseconds since 1970
	Definition          *table.Definition // of define
	Stamp               table.Stamp       // of change, row and grave
	Key                 []byte            // of grave
	Stream              *storedStream     // of stream
	Shard               string            // of record
	Record              stream.Record     // of record, without its items

	keys, item, old item.Item // of change, row and record
}

// storedStream is a stream without its records.
type storedStream struct {
	Label, View string
	Schema      []table.KeyElement
	Began       int64
	State       stream.State
}

// encode returns the JSON of the entry. Items are in DynamoDB's JSON.
func (e *entry) encode() ([]byte, error) {
	var a answer
	text := func(name, value string) { a.out = item.AppendText(a.member(name), value) }
	number := func(name string, value int64) { a.out = strconv.AppendInt(a.member(name), value, 10) }
	text("kind", e.Kind)
	text("region", e.Region)
	text("table", e.Table)
	number("now", e.Now)
	if e.Stamp != (table.Stamp{}) {
		number("at", e.Stamp.At)
		text("by", e.Stamp.Region)
	}
	a.item("keys", e.keys)
	a.item("item", e.item)
	a.item("old", e.old)
	if e.Definition == nil && e.Key == nil && e.Stream == nil && e.Shard == "" {
		return a.end(), nil
	}
	record := e.Record
	record.Keys, record.Old, record.New = item.Item{}, item.Item{}, item.Item{}
	rest, err := json.Marshal(entryRest{e.Definition, e.Key, e.Stream, e.Shard, record})
	a.out = item.AppendText(a.member("rest"), string(rest)) // a string, so that the scanner returns it as a whole
	return a.end(), err
}

// entryRest holds the members that few entries have.
type entryRest struct {
	Definition *table.Definition `json:",omitempty"`
	Key        []byte            `json:",omitempty"`
	Stream     *storedStream     `json:",omitempty"`
	Shard      string            `json:",omitempty"`
	Record     stream.Record
}

// decodeEntry is the inverse of encode.
func decodeEntry(text []byte) (*entry, error) {
	e := &entry{}
	s := jsonscan.New(text)
	var d item.Decoder
	var rest entryRest
	var err error
	for in := s.Enter('{'); in && s.Next('}') && err == nil; {
		switch name := string(s.Key()); name {
		case "kind":
			e.Kind = string(s.Text())
		case "region":
			e.Region = string(s.Text())
		case "table":
			e.Table = string(s.Text())
		case "by":
			e.Stamp.Region = string(s.Text())
		case "now":
			e.Now, err = strconv.ParseInt(string(s.Number()), 10, 64)
		case "at":
			e.Stamp.At, err = strconv.ParseInt(string(s.Number()), 10, 64)
		case "keys":
			e.keys, err = d.Item(s)
		case "item":
			e.item, err = d.Item(s)
		case "old":
			e.old, err = d.Item(s)
		case "rest":
			err = json.Unmarshal(s.Text(), &rest)
		default:
			err = fmt.Errorf("a journal entry has the unknown member %q: a newer version wrote it: use that version, or another directory",
				name)
		}
	}
	if err == nil {
		err = s.End()
	}
	e.Definition, e.Key, e.Stream, e.Shard, e.Record = rest.Definition, rest.Key, rest.Stream, rest.Shard, rest.Record
	return e, err
}

// record appends an entry to the journal. After an error every request fails, because it is unknown
// whether the entry is on disk.
func (c *Cloud) record(e *entry) error {
	if c.journal == nil || c.replaying {
		return nil
	}
	e.Now = c.now
	text, err := e.encode()
	if err == nil {
		err = c.journal.Append(text)
	}
	if err != nil {
		c.failed = err
	}
	return err
}

func (c *Cloud) recordChange(t *liveTable, keys item.Item, row table.Row) error {
	if c.journal == nil {
		return nil
	}
	e := &entry{Kind: entryChange, Region: t.region.name, Table: t.def.TableName, Stamp: row.Stamp, item: row.Item}
	if !row.Exists() {
		e.keys = keys
	}
	return c.record(e)
}

func (c *Cloud) recordDefinition(r *Region, def *table.Definition) error {
	return c.record(&entry{Kind: entryDefine, Region: r.name, Table: def.TableName, Definition: def})
}

func (c *Cloud) recordDrop(r *Region, name string) error {
	return c.record(&entry{Kind: entryDrop, Region: r.name, Table: name})
}

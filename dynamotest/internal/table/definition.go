package table

import (
	"slices"

	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/stream"
)

// Definition is what a table in one region is, as far as requests say so. Its JSON is that of the journal, and its
// parts' that of the protocol.
type Definition struct {
	TableName            string
	KeySchema            []KeyElement
	AttributeDefinitions []AttributeDefinition
	Indexes              []IndexDefinition
	StreamView           string // "" while there is no stream
	StreamLabel          string // of the newest stream
	StreamSettings       stream.Settings
	Replicas             []string // all regions of a global table, sorted; none if it is not global
	TableID              string
	Created              int64 // nanoseconds since 1970
	Ready                int64 // when it can be used; until then it is CREATING
	Updated              int64 // until when it is UPDATING
	DeletionProtection   bool
}

// KeyElement is an element of a key schema.
type KeyElement struct {
	AttributeName string
	KeyType       string // HASH or RANGE
}

// AttributeDefinition gives a key attribute its type.
type AttributeDefinition struct {
	AttributeName string
	AttributeType string // S, N or B
}

// Projection says which attributes an index has beside the keys.
type Projection struct {
	ProjectionType   string   // ALL, KEYS_ONLY or INCLUDE
	NonKeyAttributes []string `json:",omitempty"` // for INCLUDE
}

// IndexDefinition is a global secondary index.
type IndexDefinition struct {
	IndexName  string
	KeySchema  []KeyElement
	Projection Projection
	Ready      int64 `json:",omitempty"` // when it can be read; until then it is CREATING
}

// Keys returns the table's keys.
func (d *Definition) Keys() Keys { return d.keysOf(d.KeySchema) }

// IndexKeys returns the index's keys.
func (d *Definition) IndexKeys(x IndexDefinition) Keys { return d.keysOf(x.KeySchema) }

func (d *Definition) keysOf(schema []KeyElement) Keys {
	var k Keys
	for _, e := range schema {
		a := Attr{Name: e.AttributeName, Kind: d.kind(e.AttributeName)}
		if e.KeyType == "HASH" {
			k.Hash = a
		} else {
			k.Range = a
		}
	}
	return k
}

func (d *Definition) kind(name string) item.Kind {
	for _, a := range d.AttributeDefinitions {
		if a.AttributeName == name {
			return item.ParseKind(a.AttributeType)
		}
	}
	return item.Missing
}

// Index returns the place of the index of that name, -1 if there is none.
func (d *Definition) Index(name string) int {
	return slices.IndexFunc(d.Indexes, func(x IndexDefinition) bool { return x.IndexName == name })
}

// Clone returns a copy that shares nothing that changes.
func (d *Definition) Clone() *Definition {
	c := *d
	c.Indexes, c.Replicas = slices.Clone(d.Indexes), slices.Clone(d.Replicas)
	c.AttributeDefinitions = slices.Clone(d.AttributeDefinitions)
	return &c
}

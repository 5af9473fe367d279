package table

import (
	"slices"

	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/stream"
)

// Definition is the definition of a table in one region. Its JSON is the journal's; the JSON of its
// parts is DynamoDB's.
type Definition struct {
	TableName            string
	KeySchema            []KeyElement
	AttributeDefinitions []AttributeDefinition
	Indexes              []IndexDefinition
	StreamView           string // "" without an enabled stream
	StreamLabel          string // of the newest stream
	StreamSettings       stream.Settings
	Replicas             []string // all regions of a global table, sorted; empty if the table is not global
	TableID              string
	Created              int64 // nanoseconds since 1970
	Ready                int64 // until then the table is CREATING, in nanoseconds since 1970
	Updated              int64 // until then the table is UPDATING, in nanoseconds since 1970
	DeletionProtection   bool
	Throughput           *Throughput `json:",omitempty"` // nil: the table has on-demand capacity
}

// Throughput is provisioned capacity. It is only described: no request is limited by it.
type Throughput struct{ ReadCapacityUnits, WriteCapacityUnits int64 }

// KeyElement is an element of a key schema.
type KeyElement struct {
	AttributeName string
	KeyType       string // HASH or RANGE
}

// AttributeDefinition is the type of a key attribute.
type AttributeDefinition struct {
	AttributeName string
	AttributeType string // S, N or B
}

// Projection is the attributes of an index beside the keys.
type Projection struct {
	ProjectionType   string   // ALL, KEYS_ONLY or INCLUDE
	NonKeyAttributes []string `json:",omitempty"` // for INCLUDE
}

// IndexDefinition is a global secondary index.
type IndexDefinition struct {
	IndexName  string
	KeySchema  []KeyElement
	Projection Projection
	Ready      int64 `json:",omitempty"` // until then the index is CREATING, in nanoseconds since 1970

	ProvisionedThroughput *Throughput `json:",omitempty"`
}

// Keys returns the key attributes of the table.
func (d *Definition) Keys() Keys { return d.keysOf(d.KeySchema) }

// IndexKeys returns the key attributes of an index of the table.
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

// Index returns the position of the index with that name in Indexes, or -1.
func (d *Definition) Index(name string) int {
	return slices.IndexFunc(d.Indexes, func(x IndexDefinition) bool { return x.IndexName == name })
}

// Clone returns a copy that can be changed without changing d.
func (d *Definition) Clone() *Definition {
	c := *d
	c.Indexes, c.Replicas = slices.Clone(d.Indexes), slices.Clone(d.Replicas)
	c.AttributeDefinitions = slices.Clone(d.AttributeDefinitions)
	return &c
}

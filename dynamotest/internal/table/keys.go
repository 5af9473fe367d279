package table

import (
	"encoding/binary"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// HashSize is the size in bytes of the partition key's hash, with which a key begins.
const HashSize = 8

// Attr is a key attribute. The zero Attr stands for no attribute.
type Attr struct {
	Name string
	Kind item.Kind
}

// Keys are the key attributes of a table or an index.
type Keys struct {
	Hash, Range Attr
}

// Names returns the attributes' names, one or two.
func (k Keys) Names() []string {
	if k.Range.Name == "" {
		return []string{k.Hash.Name}
	}
	return []string{k.Hash.Name, k.Range.Name}
}

// Has reports whether the attribute is one of the keys.
func (k Keys) Has(name string) bool { return name == k.Hash.Name || name == k.Range.Name && name != "" }

// AppendPartition appends the common prefix of all keys of a partition.
func AppendPartition(dst []byte, hash item.Value) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, HashSize)...)
	dst = item.AppendKey(dst, hash)
	binary.BigEndian.PutUint64(dst[at:], xxhash.Sum64(dst[at+HashSize:]))
	return dst
}

// Append appends the key of an item. The item's key attributes must be valid.
func (k Keys) Append(dst []byte, it item.Item) []byte {
	dst = AppendPartition(dst, it.Get(k.Hash.Name))
	if k.Range.Name != "" {
		dst = item.AppendKey(dst, it.Get(k.Range.Name))
	}
	return dst
}

// HashOf returns the hash at the start of a key.
func HashOf(key string) uint64 {
	return binary.BigEndian.Uint64([]byte(key[:HashSize]))
}

// Covers reports whether the item has all key attributes, with the right types. Otherwise it is not
// in the index.
func (k Keys) Covers(it item.Item) bool {
	return it.Get(k.Hash.Name).Kind() == k.Hash.Kind && (k.Range.Name == "" || it.Get(k.Range.Name).Kind() == k.Range.Kind)
}

// CheckKey returns an error unless the item consists of exactly the key attributes, with valid
// values.
func (k Keys) CheckKey(it item.Item) error {
	if it.Len() != len(k.Names()) || !k.Covers(it) {
		return wire.Invalid("The provided key element does not match the schema")
	}
	return k.checkValues(it)
}

// CheckItem returns an error unless the item has valid key attributes.
func (k Keys) CheckItem(it item.Item) error {
	for _, a := range [...]Attr{k.Hash, k.Range} {
		if a.Name == "" {
			continue
		}
		switch kind := it.Get(a.Name).Kind(); kind {
		case a.Kind:
		case item.Missing:
			return wire.InvalidParameter("Missing the key " + a.Name + " in the item")
		default:
			return wire.InvalidParameter("Type mismatch for key " + a.Name + " expected: " + a.Kind.String() + " actual: " + kind.String())
		}
	}
	return k.checkValues(it)
}

func (k Keys) checkValues(it item.Item) error {
	for i, a := range [...]Attr{k.Hash, k.Range} {
		v := it.Get(a.Name)
		if a.Name == "" || a.Kind == item.N {
			continue
		}
		if empty := emptyKind(v); empty != "" {
			return wire.Invalid(
				"One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty " + empty +
					" value. Key: " + a.Name)
		}
		switch {
		case i == 0 && v.Size() > item.MaxHashKey:
			return wire.InvalidParameter("Size of hashkey has exceeded the maximum size limit of" + strconv.Itoa(item.MaxHashKey) +
				" bytes")
		case i == 1 && v.Size() > item.MaxRangeKey:
			return wire.InvalidParameter("Aggregated size of all range keys has exceeded the size limit of " +
				strconv.Itoa(item.MaxRangeKey) + " bytes")
		}
	}
	return nil
}

// emptyKind returns "string" or "binary" for an empty value of that kind, and "" for other values.
func emptyKind(v item.Value) string {
	switch {
	case v.Len() != 0:
		return ""
	case v.Kind() == item.S:
		return "string"
	case v.Kind() == item.B:
		return "binary"
	default:
		return ""
	}
}

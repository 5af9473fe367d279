package changes

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/weirhq/weir/events/eventspb"
)

// Tags of the fields of LeaseChange, LeaseResource and LeaseKey that decodeCommon knows: field
// number * 8 + wire type.
const (
	tagText1  = 1<<3 | uint64(protowire.BytesType)
	tagText2  = 2<<3 | uint64(protowire.BytesType)
	tagText3  = 3<<3 | uint64(protowire.BytesType)
	tagText4  = 4<<3 | uint64(protowire.BytesType)
	tagText5  = 5<<3 | uint64(protowire.BytesType)
	tagText9  = 9<<3 | uint64(protowire.BytesType)
	tagText10 = 10<<3 | uint64(protowire.BytesType)
	tagText11 = 11<<3 | uint64(protowire.BytesType)
	tagInt2   = 2<<3 | uint64(protowire.VarintType)
	tagInt3   = 3<<3 | uint64(protowire.VarintType)
	tagInt4   = 4<<3 | uint64(protowire.VarintType)
	tagInt5   = 5<<3 | uint64(protowire.VarintType)
	tagInt6   = 6<<3 | uint64(protowire.VarintType)
	tagInt7   = 7<<3 | uint64(protowire.VarintType)
	tagInt8   = 8<<3 | uint64(protowire.VarintType)
)

// decodeCommon decodes the changes of resources and keys, which are nearly all changes: three times
// as fast as proto.Unmarshal, with one allocation in place of nine. It reports false, with c half
// filled, for each record that has an unknown field, a second row, or anything malformed;
// proto.Unmarshal decodes or refuses those. All strings share one copy of the record.
func (c *Change) decodeCommon(value []byte) bool {
	w := wire{rest: value, text: string(value)}
	for len(w.rest) > 0 && !w.failed {
		switch w.varint() {
		case tagText1:
			c.Region = w.string()
		case tagText2:
			c.Client = w.string()
		case tagText3:
			c.Pool = w.string()
		case tagInt4:
			c.AtMs = int64(w.varint())
		case tagInt5:
			c.Scanned = protowire.DecodeBool(w.varint())
		case tagInt6:
			c.Gone = protowire.DecodeBool(w.varint())
		case tagText10:
			if c.Row != nil {
				return false
			}
			c.resource = eventspb.LeaseChange_Resource{Resource: &c.resourceRow}
			c.Row = &c.resource
			row := w.message()
			w.failed = w.failed || !row.resource(&c.resourceRow)
		case tagText11:
			if c.Row != nil {
				return false
			}
			k := &eventspb.LeaseKey{}
			c.Row = &eventspb.LeaseChange_Key{Key: k}
			row := w.message()
			w.failed = w.failed || !row.key(k)
		default:
			return false
		}
	}
	return !w.failed
}

// wire reads the fields of a protobuf message.
type wire struct {
	rest   []byte
	text   string // a copy that ends where rest ends
	failed bool
}

func (w *wire) resource(r *eventspb.LeaseResource) bool {
	for len(w.rest) > 0 && !w.failed {
		switch w.varint() {
		case tagText1:
			r.Resource = w.string()
		case tagInt2:
			r.Version = int64(w.varint())
		case tagText3:
			r.Owner = w.string()
		case tagText4:
			r.Holder = w.string()
		case tagInt5:
			r.ExpiresMs = int64(w.varint())
		case tagInt6:
			r.AvailableMs = int64(w.varint())
		default:
			return false
		}
	}
	return !w.failed
}

func (w *wire) key(k *eventspb.LeaseKey) bool {
	for len(w.rest) > 0 && !w.failed {
		switch w.varint() {
		case tagText1:
			k.Key = w.string()
		case tagText2:
			k.Region = w.string()
		case tagInt3:
			k.Version = int64(w.varint())
		case tagText4:
			k.State = w.string()
		case tagText5:
			k.Resource = w.string()
		case tagInt6:
			k.ResourceVersion = int64(w.varint())
		case tagInt7:
			k.ExpiresMs = int64(w.varint())
		case tagInt8:
			k.GrantedMs = int64(w.varint())
		case tagText9:
			k.Winner = w.string()
		default:
			return false
		}
	}
	return !w.failed
}

func (w *wire) varint() uint64 {
	v, n := protowire.ConsumeVarint(w.rest)
	if n < 0 {
		w.failed = true
		return 0
	}
	w.rest = w.rest[n:]
	return v
}

// bytes consumes a length and that many bytes. It returns the bytes, as part of text.
func (w *wire) bytes() string {
	n := w.varint()
	if n > uint64(len(w.rest)) {
		w.failed = true
		return ""
	}
	from := len(w.text) - len(w.rest)
	w.rest = w.rest[n:]
	return w.text[from : from+int(n)]
}

func (w *wire) string() string {
	s := w.bytes()
	if !utf8.ValidString(s) {
		w.failed = true
	}
	return s
}

// message consumes a nested message.
func (w *wire) message() wire {
	rest := w.rest
	before := len(rest)
	text := w.bytes()
	if w.failed {
		return wire{failed: true}
	}
	end := before - len(w.rest)
	return wire{rest: rest[end-len(text) : end], text: text}
}
